// Keys, the box, SQL, what is kept of a view, what a screen reader sees.
#include <QAccessible>
#include <QFile>
#include <QFileInfo>
#include <QKeyEvent>
#include <QTemporaryDir>

#include "gui/gui_testing.h"
#include "models/key_map.h"
#include "models/sidecar.h"
#include "panels/sql_panel.h"
#include "search/command_box.h"
#include "style/icons.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui {
namespace {

using testing::opened_window;
using testing::wait_for;

TEST(KeyMap, KeysAreRebornAndKept) {
  const QTemporaryDir directory;
  {
    QSettings settings(directory.filePath("keys.ini"), QSettings::IniFormat);
    KeyMap keys(&settings);
    EXPECT_EQ(keys.command(KeyMap::Place::timeline, QKeySequence("F")), "fit");
    EXPECT_FALSE(keys.rebind("fit", QKeySequence("Z")));  // another command's
    EXPECT_TRUE(keys.rebind("fit", QKeySequence("G")));
    EXPECT_EQ(keys.command(KeyMap::Place::timeline, QKeySequence("F")), "");
  }
  QSettings settings(directory.filePath("keys.ini"), QSettings::IniFormat);
  KeyMap keys(&settings);
  EXPECT_EQ(keys.command(KeyMap::Place::timeline, QKeySequence("G")), "fit");
  keys.reset();
  EXPECT_EQ(keys.command(KeyMap::Place::timeline, QKeySequence("F")), "fit");
}

TEST(Icons, AreOfCommandsAndFollowTheTheme) {
  const KeyMap keys;
  for (const QString& command : commands_with_icons()) {
    EXPECT_NE(keys.find(command), nullptr) << command.toStdString();
    QImage drawn[2];
    for (const ThemeChoice choice : {ThemeChoice::light, ThemeChoice::dark}) {
      apply_theme(*qApp, choice);
      drawn[choice == ThemeChoice::dark ? 1 : 0] = command_icon(command).pixmap(32, 32).toImage();
    }
    apply_theme(*qApp, ThemeChoice::light);
    int inked = 0;
    for (int y = 0; y < drawn[0].height(); ++y) {
      for (int x = 0; x < drawn[0].width(); ++x) inked += qAlpha(drawn[0].pixel(x, y)) > 128 ? 1 : 0;
    }
    EXPECT_GT(inked, 30) << command.toStdString();
    EXPECT_NE(drawn[0], drawn[1]) << command.toStdString();
  }
  EXPECT_TRUE(command_icon("no such command").isNull());
}

TEST(KeyMap, NoKeyOfAPlaceIsTakenTwice) {
  const KeyMap keys;
  for (const KeyMap::Entry& entry : keys.entries()) {
    if (entry.key.isEmpty()) continue;
    EXPECT_EQ(keys.command(entry.place, entry.key), entry.id) << entry.id.toStdString();
  }
}

ViewState some_state() {
  ViewState state;
  state.rows.order = {"stream/0/7", "gaps"};
  state.rows.hidden = {"copies/0/7"};
  state.rows.pinned = {"steps/0"};
  state.notes = {{1'795'316'453'015'010'677, "here it \"waits\"\n", "stream/0/7"}, {7, "on no row"}};
  state.bookmarks[3] = analyzer::TimeWindow{1'795'316'453'015'010'677, 1'795'316'453'015'010'999};
  state.view = analyzer::TimeWindow{5, 9};
  state.nvtx = "step / \"forward\" / layer *";
  state.docks = QByteArray("\x00\xff\x01", 3);
  return state;
}

TEST(Sidecar, TheViewSurvivesToTheNanosecond) {
  const auto read = view_from_json(to_json(some_state()));
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read.value() == some_state());
}

TEST(Sidecar, WhatIsNoViewIsRefusedAndHolesAreEmpty) {
  EXPECT_EQ(view_from_json("{").failure().kind, ErrorKind::corrupt);
  EXPECT_EQ(view_from_json("[1]").failure().kind, ErrorKind::corrupt);
  EXPECT_EQ(view_from_json(R"({"ridgeline_view": 99})").failure().kind, ErrorKind::corrupt);
  const auto odd = view_from_json(
      R"({"ridgeline_view":1,"rows":7,"notes":[{"time_ns":"x"},3],"bookmarks":[{"start_ns":"9","end_ns":"2"}],"view":"wide"})");
  ASSERT_TRUE(odd.ok());
  EXPECT_TRUE(odd.value() == ViewState{});
}

TEST(Sidecar, AMissingFileIsAnEmptyViewAndAnUnwritableOneAFailure) {
  const QTemporaryDir directory;
  EXPECT_TRUE(load_view(directory.filePath("none.json")).value() == ViewState{});
  EXPECT_EQ(save_view(directory.filePath("no/where.json"), {}).failure().kind, ErrorKind::io);
}

TEST(CommandBox, FindsCommandsByWords) {
  const KeyMap keys;
  EXPECT_EQ(matching_commands(keys, "").size(), keys.entries().size());
  ASSERT_EQ(matching_commands(keys, "roofline export").size(), 1U);
  EXPECT_EQ(matching_commands(keys, "ROOFLINE exp")[0].command, "export_roofline");
  EXPECT_TRUE(matching_commands(keys, "no such thing").empty());
}

TEST(CommandBox, FindsNamesKernelsFirst) {
  TimelineData data;
  data.names = {{"forward gemm", EventName::Kind::range},
                {"gemm<1>", EventName::Kind::kernel, KernelClass::gemm, 1},
                {"gemm<1>", EventName::Kind::kernel, KernelClass::gemm, 2},
                {"gelu", EventName::Kind::kernel}};
  const auto found = matching_names(data, "GEMM", 10);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].text, "gemm<1>");
  EXPECT_EQ(found[1].hint, "NVTX range");
  EXPECT_EQ(matching_names(data, "g", 1).size(), 1U);
}

class CommandsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<QTemporaryDir>();
    capture_ = directory_->filePath("run.ridge");
    ASSERT_TRUE(QFile::copy(testing::bundled_capture(), capture_));
    window_ = opened_window(capture_);
  }
  static void TearDownTestSuite() {
    window_.reset();
    directory_.reset();
  }
  TimelineView* view() { return window_->timeline()->view(); }
  static inline std::unique_ptr<QTemporaryDir> directory_;
  static inline QString capture_;
  static inline std::unique_ptr<MainWindow> window_;
};

TEST_F(CommandsTest, EveryCommandOfTheTimelineIsOne) {
  for (const KeyMap::Entry& entry : window_->keys().entries()) {
    if (entry.place != KeyMap::Place::timeline || entry.id == "mark") continue;  // that one asks in a dialog
    EXPECT_TRUE(view()->run(entry.id)) << entry.id.toStdString();
  }
  EXPECT_FALSE(view()->run("open"));
}

TEST_F(CommandsTest, ARebornKeyWorksAndTheOldOneDoesNot) {
  window_->run("home");
  const auto all = window_->selection().view();
  ASSERT_TRUE(window_->keys().rebind("fit", QKeySequence("G")));
  QTest::keyClick(view(), Qt::Key_F);
  EXPECT_EQ(window_->selection().view(), all);
  QTest::keyClick(view(), Qt::Key_G);
  EXPECT_NE(window_->selection().view(), all);
  window_->keys().reset();
}

TEST_F(CommandsTest, EveryPanelIsReachedByAKey) {
  for (const char* name : {"ranking", "roofline", "step", "kernel", "advice", "what-if", "gaps", "findings",
                           "sql", "log", "timeline"}) {
    window_->run(QString("panel_") + name);
    const QWidget* content = QString(name) == "log" ? window_->log() : window_->panel(name);
    QWidget* focus = window_->focusWidget();
    const bool inside = focus != nullptr && (focus == content || content->isAncestorOf(focus));
    // A panel of labels and charts alone has nothing to type into: it is in front.
    EXPECT_TRUE(inside || content->findChild<QLineEdit*>() == nullptr) << name;
    EXPECT_TRUE(content->isVisible()) << name;
  }
}

TEST_F(CommandsTest, BookmarksAreSetAndGoneTo) {
  window_->run("fit");
  const auto there = window_->selection().view();
  QTest::keyClick(view(), Qt::Key_4, Qt::ControlModifier);
  window_->run("home");
  QTest::keyClick(view(), Qt::Key_4);
  EXPECT_EQ(window_->selection().view(), there);
}

TEST_F(CommandsTest, TheBoxSearchesRunsAndAsks) {
  CommandBox* box = window_->command_box();
  window_->run("search");
  EXPECT_TRUE(box->isVisible());
  QTest::keyClicks(box->field(), "adamw");
  ASSERT_GT(box->list()->count(), 0);
  QTest::keyClick(box->field(), Qt::Key_Return);
  EXPECT_FALSE(box->isVisible());
  EXPECT_TRUE(window_->selection().kernel().name.find("adamw") != std::string::npos)
      << window_->selection().kernel().name;
  ASSERT_TRUE(wait_for([&] { return !view()->finding(); }));
  EXPECT_GT(view()->scene().found_count(), 0);

  window_->run("commands");
  QTest::keyClicks(box->field(), "show everything");
  QTest::keyClick(box->field(), Qt::Key_Return);
  EXPECT_GE(window_->selection().view().length_ns(), view()->scene().extent().length_ns());

  window_->run("sql");
  QTest::keyClicks(box->field(),
                   "SELECT kernel, start_ns, end_ns FROM v_launch ORDER BY duration_ns DESC LIMIT 3");
  QTest::keyClick(box->field(), Qt::Key_Return);
  auto* sql = dynamic_cast<SqlPanel*>(window_->panel("sql"));
  ASSERT_TRUE(wait_for([&] { return !sql->busy(); }));
  ASSERT_EQ(sql->table()->model()->rowCount(), 3) << sql->status().toStdString();
  // A row leads to the timeline.
  sql->table()->setCurrentIndex(sql->table()->model()->index(1, 0));
  ASSERT_TRUE(window_->selection().range());
  EXPECT_EQ(window_->selection().range()->start_ns,
            sql->table()->model()->index(1, 1).data(kValueRole).toLongLong());
  window_->selection().select_range(std::nullopt);
}

TEST_F(CommandsTest, GapsAreSearchedByTheirCause) {
  CommandBox* box = window_->command_box();
  window_->run("search");
  QTest::keyClicks(box->field(), "gap: launch");
  ASSERT_EQ(box->list()->count(), 1);
  EXPECT_TRUE(box->list()->item(0)->text().startsWith("gap: launch-bound"))
      << box->list()->item(0)->text().toStdString();
  QTest::keyClick(box->field(), Qt::Key_Return);
  EXPECT_FALSE(box->isVisible());
  ASSERT_TRUE(wait_for([&] { return !view()->finding() && view()->scene().found_count() > 0; }));
  const analyzer::Accounting& accounting = *window_->document()->overview()->accounting;
  std::int64_t launch_bound = 0;
  for (const analyzer::Gap& gap : accounting.gaps)
    if (gap.kind == analyzer::GapKind::launch_bound) ++launch_bound;
  EXPECT_GE(static_cast<std::int64_t>(view()->scene().found_count()), launch_bound);
  window_->timeline()->search_field()->clear();
}

TEST_F(CommandsTest, SqlThatWritesOrIsNoneIsRefusedInWords) {
  auto* sql = dynamic_cast<SqlPanel*>(window_->panel("sql"));
  for (const char* query : {"DELETE FROM run", "SELEC 1", "SELECT * FROM nowhere"}) {
    sql->run(query);
    ASSERT_TRUE(wait_for([&] { return !sql->busy(); }));
    EXPECT_FALSE(sql->status().isEmpty());
    EXPECT_FALSE(sql->status().contains("row,")) << sql->status().toStdString();
  }
}

TEST_F(CommandsTest, AQueryThatNeverEndsIsStoppedByItsButtonAndTheNextIsAnswered) {
  auto* sql = dynamic_cast<SqlPanel*>(window_->panel("sql"));
  window_->run("panel_sql");
  const QString endless =
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
  sql->run(endless);
  EXPECT_FALSE(wait_for([&] { return !sql->busy(); }, 200));
  EXPECT_EQ(sql->button()->text(), "Stop");
  QTest::mouseClick(sql->button(), Qt::LeftButton);
  EXPECT_EQ(sql->status(), "stopped");
  EXPECT_TRUE(wait_for([&] { return !sql->busy(); }, 5000)) << "it runs on";
  EXPECT_EQ(sql->button()->text(), "Run");
  // Enter asks, Shift+Enter begins a line.
  sql->query()->setPlainText("");
  QTest::keyClicks(sql->query(), "SELECT 1 AS a,");
  QTest::keyClick(sql->query(), Qt::Key_Return, Qt::ShiftModifier);
  QTest::keyClicks(sql->query(), "2 AS b");
  QTest::keyClick(sql->query(), Qt::Key_Return);
  ASSERT_TRUE(wait_for([&] { return !sql->busy(); }));
  EXPECT_EQ(sql->table()->model()->rowCount(), 1) << sql->status().toStdString();
  EXPECT_EQ(sql->table()->model()->columnCount(), 2);
  EXPECT_EQ(sql->query()->toPlainText(), "SELECT 1 AS a,\n2 AS b");
  // Rows of another query do not stand beside an error.
  sql->run("SELECT * FROM nowhere");
  ASSERT_TRUE(wait_for([&] { return !sql->busy(); }));
  EXPECT_EQ(sql->table()->model()->rowCount(), 0);
  EXPECT_TRUE(sql->status().contains("nowhere")) << sql->status().toStdString();
}

TEST_F(CommandsTest, AQueryThatTakesTooLongIsEnded) {
  auto* sql = dynamic_cast<SqlPanel*>(window_->panel("sql"));
  sql->limits()->addItem("1 s", 1);
  sql->limits()->setCurrentIndex(sql->limits()->count() - 1);
  sql->run("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c");
  EXPECT_TRUE(wait_for([&] { return !sql->busy(); }, 10'000));
  EXPECT_EQ(sql->status(), "stopped: it took longer than 1 s");
  sql->limits()->removeItem(sql->limits()->count() - 1);
  sql->limits()->setCurrentIndex(1);
}

TEST_F(CommandsTest, AWindowClosesWhileAQueryRuns) {
  auto other = opened_window(capture_);
  auto* sql = dynamic_cast<SqlPanel*>(other->panel("sql"));
  sql->run("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c");
  EXPECT_FALSE(wait_for([&] { return !sql->busy(); }, 100));
  QElapsedTimer timer;
  timer.start();
  other.reset();  // waits for its threads
  EXPECT_LT(timer.elapsed(), 5000);
}

TEST_F(CommandsTest, TheBoxShowsCommandsWholeAndSaysThatNothingWasFound) {
  CommandBox* box = window_->command_box();
  window_->run("commands");
  QTest::keyClicks(box->field(), "range as a capture");
  ASSERT_EQ(box->list()->count(), 1);
  EXPECT_TRUE(box->list()->item(0)->text().startsWith("Export the range as a capture of its own"))
      << box->list()->item(0)->text().toStdString();
  QTest::keyClicks(box->field(), "zzz");
  ASSERT_EQ(box->list()->count(), 1);
  EXPECT_EQ(box->list()->item(0)->text(), "Nothing is called so");
  QTest::keyClick(box->field(), Qt::Key_Return);
  EXPECT_TRUE(box->isVisible());
  QTest::keyClick(box->field(), Qt::Key_Escape);
  window_->run("search");
  QTest::keyClicks(box->field(), "layer 1");
  ASSERT_GT(box->list()->count(), 0);
  EXPECT_TRUE(box->list()->item(0)->text().startsWith("layer 1"))
      << box->list()->item(0)->text().toStdString();
  QTest::keyClick(box->field(), Qt::Key_Escape);
}

TEST_F(CommandsTest, WhatWasArrangedIsThereWhenTheCaptureIsOpenedAgain) {
  const QByteArray before = [] {
    QFile file(capture_);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }();
  const std::size_t row = view()->boxes().back().row;
  const std::string id = view()->scene().row(row).id;
  view()->scene().set_pinned(row, true);
  view()->set_notes({{view()->scene().extent().start_ns, "look here"}});
  const auto there = window_->selection().view();
  window_->run("save_view");
  ASSERT_TRUE(QFileInfo::exists(sidecar_path(capture_)));
  window_ = opened_window(capture_);
  EXPECT_TRUE(view()->scene().arrangement().pinned.contains(id));
  ASSERT_EQ(view()->notes().size(), 1U);
  EXPECT_EQ(view()->notes()[0].text, "look here");
  EXPECT_EQ(window_->selection().view(), there);
  QFile file(capture_);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(file.readAll(), before) << "the capture was touched";
}

TEST_F(CommandsTest, TheRangeIsExportedAsACaptureThatOpens) {
  const QTemporaryDir directory;
  const QString path = directory.filePath("part.ridge");
  const auto& step = window_->document()->overview()->steps->representative;
  window_->selection().select_range(
      analyzer::TimeWindow{step.window_start_ns, step.window_start_ns + 1'000'000});
  window_->export_part(path);
  ASSERT_TRUE(wait_for([&] { return window_->settled(); }));
  ASSERT_TRUE(QFileInfo::exists(path));
  const auto part = opened_window(path);
  EXPECT_EQ(part->document()->overview()->steps->representative.summary.launches,
            window_->document()->overview()->steps->representative.summary.launches);
  EXPECT_EQ(part->document()->overview()->ranking->rows[0].key,
            window_->document()->overview()->ranking->rows[0].key);
  // It is not written over, and the log says so.
  const int lines = window_->log()->lines();
  window_->export_part(path);
  ASSERT_TRUE(wait_for([&] { return window_->settled() && window_->log()->lines() > lines + 1; }));
  window_->selection().select_range(std::nullopt);
}

TEST_F(CommandsTest, AScreenReaderWalksRowsAndEventsAndChoosesOne) {
  window_->run("fit");
  QAccessibleInterface* timeline = QAccessible::queryAccessibleInterface(view());
  ASSERT_NE(timeline, nullptr);
  EXPECT_EQ(timeline->role(), QAccessible::Table);
  EXPECT_EQ(timeline->text(QAccessible::Name), "Timeline");
  const auto rows = view()->scene().pinned_rows().size() + view()->scene().scrolling_rows().size();
  ASSERT_EQ(timeline->childCount(), static_cast<int>(rows));
  QAccessibleInterface* stream = nullptr;
  for (int i = 0; i < timeline->childCount(); ++i) {
    QAccessibleInterface* row = timeline->child(i);
    EXPECT_FALSE(row->text(QAccessible::Name).isEmpty());
    EXPECT_EQ(timeline->indexOfChild(row), i);
    if (row->text(QAccessible::Name).startsWith("Stream 13:")) stream = row;
  }
  ASSERT_NE(stream, nullptr);
  EXPECT_TRUE(stream->text(QAccessible::Name).contains("busy"))
      << stream->text(QAccessible::Name).toStdString();
  ASSERT_GT(stream->childCount(), 100);
  QAccessibleInterface* event = stream->child(5);
  EXPECT_EQ(event->parent(), stream);
  EXPECT_FALSE(event->rect().isEmpty());
  ASSERT_NE(event->actionInterface(), nullptr);
  event->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
  EXPECT_TRUE(window_->selection().launch());
}

TEST_F(CommandsTest, WhatCanBeUsedHasAName) {
  for (const char* name : {"ranking", "roofline", "kernel", "step", "gaps", "sql", "timeline"}) {
    for (const QWidget* widget : window_->panel(name)->findChildren<QWidget*>()) {
      const bool input = qobject_cast<const QLineEdit*>(widget) != nullptr ||
                         qobject_cast<const QTableView*>(widget) != nullptr;
      if (!input || widget->parentWidget() != window_->panel(name)) continue;
      EXPECT_FALSE(widget->accessibleName().isEmpty()) << name << " " << widget->metaObject()->className();
    }
  }
}

TEST_F(CommandsTest, TheSearchFieldLeadsToCommandsAndQueries) {
  QLineEdit* field = window_->timeline()->search_field();
  field->setFocus();
  for (const char* sign : {">", ":"}) {
    QTest::keyClicks(field, sign);
    EXPECT_TRUE(window_->command_box()->isVisible()) << sign;
    EXPECT_EQ(window_->command_box()->field()->text(), sign);
    EXPECT_TRUE(field->text().isEmpty());
    window_->command_box()->hide();
  }
  window_->timeline()->search_name("layer 5");
  EXPECT_EQ(field->text(), "layer 5") << "as it is called, without the signs of a pattern";
  ASSERT_TRUE(wait_for([&] { return !window_->timeline()->view()->matching(); }));
  EXPECT_GT(window_->timeline()->view()->scene().found_count(), 0);
  field->clear();
}

TEST_F(CommandsTest, TheSqlPanelListsViewsWithTheirColumns) {
  auto* sql = dynamic_cast<SqlPanel*>(window_->panel("sql"));
  QTreeWidget* schema = sql->schema();
  ASSERT_GT(schema->topLevelItemCount(), 5);
  QTreeWidgetItem* gaps = nullptr;
  QTreeWidgetItem* launches = nullptr;
  for (int i = 0; i < schema->topLevelItemCount(); ++i) {
    QTreeWidgetItem* item = schema->topLevelItem(i);
    if (item->text(0) == "v_gap") gaps = item;
    if (item->text(0) == "v_launch") launches = item;
  }
  ASSERT_NE(gaps, nullptr);
  ASSERT_NE(launches, nullptr);
  const auto columns = [](const QTreeWidgetItem* view) {
    QStringList names;
    for (int i = 0; i < view->childCount(); ++i) names << view->child(i)->text(0);
    return names;
  };
  gaps->setExpanded(true);
  EXPECT_TRUE(columns(gaps).contains("duration_ns")) << columns(gaps).join(' ').toStdString();
  EXPECT_TRUE(columns(gaps).contains("kernel_after"));
  EXPECT_EQ(columns(gaps).size(), 16);
  launches->setExpanded(true);
  ASSERT_TRUE(wait_for([&] { return launches->childCount() > 0; }));
  EXPECT_TRUE(columns(launches).contains("nvtx_path"));
  // The longest gap, by a query that the panel answers like any other; its row leads there.
  sql->run("SELECT start_ns, end_ns, cause, kernel_after FROM v_gap ORDER BY duration_ns DESC LIMIT 1");
  ASSERT_TRUE(wait_for([&] { return !sql->busy(); }));
  ASSERT_EQ(sql->table()->model()->rowCount(), 1) << sql->status().toStdString();
  emit schema->itemActivated(launches, 0);
  ASSERT_TRUE(wait_for([&] { return !sql->busy(); }));
  EXPECT_EQ(sql->table()->model()->rowCount(), 100) << sql->status().toStdString();
}

}  // namespace
}  // namespace ridgeline::gui
