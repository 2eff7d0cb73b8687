#include "gui/window_views.h"

#include <QHeaderView>
#include <tuple>

#include "app/key_sheet.h"
#include "app/record_dialog.h"
#include "app/screenshot.h"
#include "compare/compare_dialog.h"
#include "gui/wait_for.h"
#include "panels/column_chooser.h"
#include "panels/ranking_panel.h"
#include "panels/sql_panel.h"
#include "roofline/roofline_panel.h"
#include "search/command_box.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui::testing {
namespace {

constexpr double kNear = 0.004;  // of the step: launches by themselves, with names

class Views {
 public:
  Views(MainWindow& window, const EachView& see) : window_(window), see_(see) {}

  bool all() {
    see("first");
    if (window_.timeline() == nullptr) return settled_;  // a merged job: its ranks are the page
    panels();
    timeline();
    boxes();
    return settled_;
  }

 private:
  void see(const QString& name, QWidget* popup = nullptr) {
    settled_ = wait_until_settled(window_) && settled_;
    // What was asked of a panel arrives by events, and may move others.
    QApplication::processEvents(QEventLoop::AllEvents, 50);
    see_({name, window_, popup});
  }

  void see(const QString& name, std::initializer_list<const char*> panels) {
    for (const char* panel : panels) window_.show_panel(panel);
    see(name);
  }

  RankingPanel& ranking() { return dynamic_cast<RankingPanel&>(*window_.panel("ranking")); }

  void panels() {
    if (!window_.document()->overview()->ranking->rows.empty())
      window_.selection().select_kernel(kernels_of(*window_.document()->overview(), 0));
    see("kernel-advice", {"kernel", "advice"});
    see("what-if-gaps", {"what-if", "gaps"});
    see("step-findings", {"step", "findings"});
    auto& sql = dynamic_cast<SqlPanel&>(*window_.panel("sql"));
    sql.run("SELECT * FROM v_gap ORDER BY duration_ns DESC");
    see("sql", {"sql"});
    sql.run("SELECT no_such FROM v_launch");
    see("sql-wrong", {"sql"});
    see("log", {"log"});
    if (window_.panel("ranks") != nullptr) see("ranks", {"ranks"});
    // Names of another kind.
    ranking().grouping()->setCurrentIndex(ranking().grouping()->findText("range", Qt::MatchContains));
    see("ranking-ranges", {"ranking"});
    ranking().grouping()->setCurrentIndex(0);
  }

  void timeline() {
    Selection& selection = window_.selection();
    const analyzer::TimeWindow step = selection.view();
    const std::int64_t length = step.end_ns - step.start_ns;
    selection.select_range(analyzer::TimeWindow{step.start_ns + length / 4, step.start_ns + length / 2});
    see("range", {"ranking", "step"});
    selection.select_range(std::nullopt);
    const auto near_ns = static_cast<std::int64_t>(static_cast<double>(length) * kNear);
    selection.show({step.start_ns + length / 2, step.start_ns + length / 2 + near_ns});
    see("near", {"ranking", "step"});
    window_.timeline()->view()->home();
    see("all", {"ranking", "step"});
    selection.show(step);
    window_.run("next_gap");
    see("gap", {"gaps"});
    selection.show(step);
  }

  void boxes() {
    window_.show_panel("ranking");
    for (const auto& [kind, text, name] : {std::tuple{'/', "/a", "search"},
                                           {'/', "/nowhere", "search-nothing"},
                                           {'>', ">", "commands"},
                                           {':', ":", "ask-sql"}}) {
      window_.command_box()->open(QChar(kind));
      window_.command_box()->field()->setText(text);
      see(name);
      window_.command_box()->hide();
    }
    emit ranking().table()->horizontalHeader()->customContextMenuRequested(QPoint(20, 5));
    if (auto* chooser = ranking().table()->findChild<ColumnChooser*>()) {
      see("columns", chooser);
      chooser->close();
    }
    auto& roofline = dynamic_cast<RooflinePanel&>(*window_.panel("roofline"));
    roofline.filter()->setText("no kernel is called so");
    ranking().filter()->setText("no kernel is called so");
    see("filtered", {"ranking"});
    roofline.filter()->clear();
    ranking().filter()->clear();
  }

  MainWindow& window_;
  const EachView& see_;
  bool settled_ = true;
};

}  // namespace

bool each_view(MainWindow& window, const EachView& see) {
  return Views(window, see).all();
}

bool compare_view(MainWindow& window, const QString& capture, const QString& against, const EachView& see) {
  window.compare({{capture}, {against}, true});
  if (!wait_until_settled(window) || window.panel("compare") == nullptr) return false;
  QApplication::processEvents(QEventLoop::AllEvents, 50);
  see({"compare", window});
  return true;
}

void each_dialog(MainWindow& window, const QString& missing, const EachView& see) {
  see({"welcome", window});
  window.open(missing);
  (void)wait_for([&] { return !window.failure().message.empty(); });
  see({"error", window});
  KeySheet keys(window.keys(), &window);
  keys.show();
  see({"keys", keys});
  RecordDialog record(QCoreApplication::applicationDirPath() + "/../bin/ridgeline", &window);
  record.show();
  (void)wait_for([&] { return !record.machine().contains("Checking"); }, 60'000);
  see({"record", record});
  CompareDialog compare({{missing}, {missing}, true}, &window);
  compare.show();
  see({"compare-dialog", compare});
}

}  // namespace ridgeline::gui::testing
