#include <QSignalSpy>
#include <atomic>

#include "app/options.h"
#include "gui/gui_testing.h"
#include "models/selection.h"
#include "models/table_model.h"
#include "models/text.h"
#include "models/worker.h"

namespace ridgeline::gui {
namespace {

using testing::wait_for;

struct Row {
  std::string name;
  std::optional<double> ratio;
};

std::shared_ptr<const reports::Table> table_of(std::vector<Row> rows) {
  using reports::Cell;
  const std::vector<reports::Column<Row>> columns = {
      {{.key = "name", .header = "kernel", .align = reports::Align::left},
       [](const Row& r) { return Cell::text(r.name); }},
      {{.key = "dram_utilisation_ratio", .header = "DRAM", .unit = "%", .total = reports::Total::all},
       [](const Row& r) { return Cell::number(r.ratio, reports::Form::percent); }}};
  auto table =
      std::make_shared<reports::Table>(columns, rows.size(), [rows](std::size_t i) { return rows[i]; });
  table->add_total(reports::total_cells(columns, Row{"all", 0.5}, reports::Total::all));
  return table;
}

TEST(TableModel, ShowsWhatTheReportsDeclare) {
  TableModel model;
  model.set_table(table_of({{"gemm", 0.712}, {"copy\x1b[31m", std::nullopt}}), nullptr);
  ASSERT_EQ(model.rowCount(), 2);
  ASSERT_EQ(model.columnCount(), 2);
  EXPECT_EQ(model.index(0, 1).data().toString(), "71.2");
  EXPECT_DOUBLE_EQ(model.index(0, 1).data(kRatioRole).toDouble(), 0.712);
  EXPECT_FALSE(model.index(0, 0).data(kRatioRole).isValid());
  EXPECT_FALSE(model.index(1, 1).data(kValueRole).isValid());
  EXPECT_FALSE(model.index(1, 0).data().toString().contains(QChar(0x1b)));
  EXPECT_EQ(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), "DRAM, %\n50.0");
  EXPECT_EQ(model.index(0, 1).data(Qt::AccessibleTextRole).toString(), "DRAM, %: 71.2");
}

TEST(TableModel, NamesThatAreCutStayDifferent) {
  const std::string fprop =
      "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_31_64x128x128_kernel0_0";
  const std::string bprop =
      "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_31_64x128x128_kernel0_0";
  TableModel model;
  model.set_table(table_of({{fprop, 0.1}, {bprop, 0.2}, {fprop, 0.3}}), nullptr);
  for (const int columns : {60, 30, 24, 16}) {
    const auto name = [&](int row) { return model.elided_name(model.index(row, 0), columns); };
    EXPECT_NE(name(0), name(1)) << columns << ": " << name(0).toStdString();
    EXPECT_EQ(name(0), name(2)) << columns;
    EXPECT_LE(name(0).size(), columns);
  }
  model.set_table(table_of({{"gemm", 0.1}}), nullptr);
  EXPECT_EQ(model.elided_name(model.index(0, 0), 60), "gemm") << "of the table that is there now";
}

// In the window as in the terminal: what tells two launches of one functor apart is kept beside it.
TEST(TableModel, KernelsOfOneFunctorKeepItWhereTheyAreCut) {
  const auto kernel = [](const char* vector) {
    return std::string("void at::native::vectorized_elementwise_kernel<") + vector +
           ", at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>>(int, "
           "at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";
  };
  TableModel model;
  model.set_table(table_of({{kernel("4"), 0.1}, {kernel("2"), 0.2}}), nullptr);
  for (const int columns : {60, 48, 36, 28}) {
    const QString first = model.elided_name(model.index(0, 0), columns),
                  second = model.elided_name(model.index(1, 0), columns);
    EXPECT_TRUE(first.startsWith("CUDAFunctor_add")) << columns << ": " << first.toStdString();
    EXPECT_TRUE(second.startsWith("CUDAFunctor_add")) << columns << ": " << second.toStdString();
    EXPECT_NE(first, second) << columns;
    EXPECT_LE(first.size(), columns);
  }
}

// Where columns do not fit side by side: "saving, ms @70%" is twice as wide as the numbers of its column.
TEST(TableModel, HeadsAreSplitAtTheirUnits) {
  TableModel model;
  model.set_table(table_of({{"gemm", 0.712}}), nullptr);
  QSignalSpy told(&model, &QAbstractItemModel::headerDataChanged);
  model.split_heads(true);
  EXPECT_EQ(told.size(), 1);
  EXPECT_EQ(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), "DRAM\n%\n50.0");
  EXPECT_EQ(model.headerData(0, Qt::Horizontal, Qt::DisplayRole).toString().count('\n'), 2)
      << "lines of one height";
  model.split_heads(false);
  EXPECT_EQ(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), "DRAM, %\n50.0");
}

TEST(TableProxy, SortsByValueWithTheUnknownLastBothWays) {
  TableModel model;
  model.set_table(table_of({{"a", std::nullopt}, {"b", 0.9}, {"c", 0.10}}), nullptr);
  TableProxy proxy;
  proxy.setSourceModel(&model);
  const auto names = [&] {
    QString all;
    for (int row = 0; row < proxy.rowCount(); ++row) all += proxy.index(row, 0).data().toString();
    return all;
  };
  proxy.sort(1, Qt::AscendingOrder);
  EXPECT_EQ(names(), "cba");
  proxy.sort(1, Qt::DescendingOrder);
  EXPECT_EQ(names(), "bca");
}

TEST(TableProxy, FiltersByExpressionOrByTextThatIsNone) {
  TableModel model;
  model.set_table(table_of({{"gemm<1>", 0.1}, {"layer_norm", 0.2}, {"gelu(", 0.3}}), nullptr);
  TableProxy proxy;
  proxy.setSourceModel(&model);
  const std::pair<const char*, int> kCases[] = {
      {"", 3}, {"GEMM", 1}, {"ge(mm|lu)", 2}, {"gelu(", 1}, {"none", 0}};
  for (const auto& [filter, rows] : kCases) {
    proxy.set_filter(filter);
    EXPECT_EQ(proxy.rowCount(), rows) << filter;
  }
}

TEST(TableText, CopiesRowsInTheirOrder) {
  const auto table = table_of({{"a", 0.1}, {"b", 0.2}});
  EXPECT_EQ(as_tsv(*table, {1, 0}, {0, 1}), "kernel\tDRAM, %\nb\t20.0\na\t10.0\n");
  EXPECT_TRUE(as_markdown(*table, {1}, {0, 1}).contains("| b | 20.0 |"))
      << as_markdown(*table, {1}, {0, 1}).toStdString();
  EXPECT_EQ(as_csv(*table, {1}), "name,dram_utilisation_ratio\r\nb,0.2\r\n");
}

TEST(Text, MadeHarmless) {
  EXPECT_EQ(shown("a\x1b[2J\nb"), "a [2J b");
  EXPECT_EQ(escaped("a<b>"), "a&lt;b&gt;");
  EXPECT_EQ(shown_lines("one\ntwo\x07"), "one\ntwo\\x07");
}

TEST(Selection, UndoTakesBackWholeMovements) {
  Selection selection;
  selection.reset({0, 100});
  EXPECT_FALSE(selection.can_undo());
  selection.show({0, 50}, Selection::Gesture::continued);
  selection.show({0, 40}, Selection::Gesture::continued);
  selection.show({0, 30}, Selection::Gesture::continued);
  selection.select_range(analyzer::TimeWindow{5, 10});
  EXPECT_EQ(selection.view().end_ns, 30);
  selection.undo();
  EXPECT_FALSE(selection.range());
  EXPECT_EQ(selection.view().end_ns, 30);
  selection.undo();
  EXPECT_EQ(selection.view().end_ns, 100);
  EXPECT_FALSE(selection.can_undo());
  selection.redo();
  selection.redo();
  EXPECT_EQ(selection.range(), (analyzer::TimeWindow{5, 10}));
  EXPECT_FALSE(selection.can_redo());
}

TEST(Selection, NvtxRangesTakeThePlaceOfARangeOfTimeAndUndoGivesItBack) {
  Selection selection;
  selection.reset({0, 100});
  int ranges = 0, times = 0;
  QObject::connect(&selection, &Selection::nvtx_changed, [&] { ++ranges; });
  QObject::connect(&selection, &Selection::range_changed, [&] { ++times; });
  selection.select_range(analyzer::TimeWindow{5, 10});
  selection.select_nvtx("forward");
  selection.select_nvtx("forward");
  EXPECT_FALSE(selection.range());
  EXPECT_EQ(ranges, 1);
  EXPECT_EQ(times, 2);
  // Both may be chosen, the time after the name.
  selection.select_range(analyzer::TimeWindow{7, 9});
  EXPECT_EQ(selection.nvtx(), "forward");
  selection.select_nvtx({});
  EXPECT_TRUE(selection.range());
  selection.undo();
  EXPECT_EQ(selection.nvtx(), "forward");
  selection.undo();
  EXPECT_FALSE(selection.range());
  selection.undo();
  EXPECT_EQ(selection.nvtx(), "");
  EXPECT_EQ(selection.range(), (analyzer::TimeWindow{5, 10}));
}

TEST(Selection, AnotherKernelLetsTheLaunchGo) {
  Selection selection;
  int kernels = 0, launches = 0;
  QObject::connect(&selection, &Selection::kernel_changed, [&] { ++kernels; });
  QObject::connect(&selection, &Selection::launch_changed, [&] { ++launches; });
  selection.select_launch(LaunchChoice{1, 7, 10, 20}, "gemm");
  EXPECT_TRUE(selection.kernel().holds(7));
  EXPECT_EQ(kernels, 1);
  EXPECT_EQ(launches, 1);
  selection.select_kernel({{5, 7}, "both"});
  EXPECT_TRUE(selection.launch());
  selection.select_kernel({{5}, "other"});
  EXPECT_FALSE(selection.launch());
  selection.select_kernel({{5}, "other"});
  EXPECT_EQ(kernels, 3);
}

TEST(Worker, AnswersOnTheWindowsThreadAndTurnsThrowsIntoFailures) {
  Worker worker;
  QObject receiver;
  std::optional<Result<int>> good, bad;
  bool same_thread = false;
  const auto here = std::this_thread::get_id();
  worker.ask<int>(
      &receiver, "a", [](const std::stop_token&) -> Result<int> { return 7; },
      [&](Result<int> result) {
        good = result;
        same_thread = std::this_thread::get_id() == here;
      });
  worker.ask<int>(
      &receiver, "b", [](const std::stop_token&) -> Result<int> { throw Error(ErrorKind::corrupt, "torn"); },
      [&](Result<int> result) { bad = result; });
  ASSERT_TRUE(wait_for([&] { return good && bad; }));
  EXPECT_EQ(good->value(), 7);
  EXPECT_TRUE(same_thread);
  EXPECT_EQ(bad->failure().kind, ErrorKind::corrupt);
}

TEST(Worker, ANewerQuestionStopsTheOlderOne) {
  Worker worker;
  QObject receiver;
  std::atomic<bool> started = false, stopped = false;
  std::vector<int> answers;
  worker.ask<int>(
      &receiver, "same",
      [&](const std::stop_token& stop) -> Result<int> {
        started = true;
        while (!stop.stop_requested()) std::this_thread::yield();
        stopped = true;
        return 1;
      },
      [&](Result<int>) { answers.push_back(1); });
  ASSERT_TRUE(wait_for([&] { return started.load(); }));
  worker.ask<int>(
      &receiver, "same", [](const std::stop_token&) -> Result<int> { return 2; },
      [&](Result<int>) { answers.push_back(2); });
  ASSERT_TRUE(wait_for([&] { return !answers.empty() && !worker.busy(); }));
  QTest::qWait(5);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(answers, std::vector<int>{2});
}

TEST(Worker, AReceiverThatIsGoneIsNotCalled) {
  Worker worker;
  auto receiver = std::make_unique<QObject>();
  std::atomic<bool> go = false, called = false;
  worker.ask<int>(
      receiver.get(), "a",
      [&](const std::stop_token&) -> Result<int> {
        while (!go) std::this_thread::yield();
        return 1;
      },
      [&](Result<int>) { called = true; });
  receiver.reset();
  go = true;
  ASSERT_TRUE(wait_for([&] { return !worker.busy(); }));
  QTest::qWait(5);
  EXPECT_FALSE(called);
}

TEST(Options, ReadsWhatTheHelpLists) {
  const auto options = parse_options(
      {"a.ridge", "--screenshot", "out.png", "--size=800x600", "--theme", "dark", "--panel", "ranking"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options.value().captures.front(), "a.ridge");
  EXPECT_EQ(options.value().size, QSize(800, 600));
  EXPECT_EQ(options.value().theme, ThemeChoice::dark);
  EXPECT_EQ(options.value().panel, "ranking");
}

TEST(Options, ComplainsInWords) {
  const std::pair<std::vector<std::string>, const char*> kCases[] = {
      {{"--colour"}, "unknown option --colour"},
      {{"--size", "wide", "a"}, "--size wants"},
      {{"--size"}, "--size needs a value"},
      {{"--panel", "cake", "a"}, "no panel 'cake'"},
      {{"--screenshot", "x.png"}, "needs a capture"},
      {{"--panel", "compare", "a"}, "needs two captures"},
      {{"a", "b", "c"}, "--against"},
      {{"a", "--against"}, "before it and behind it"},
      {{"--against", "b"}, "before it and behind it"},
      {{"a", "b", "c"}, "more than two"}};
  for (const auto& [arguments, words] : kCases) {
    const auto options = parse_options(arguments);
    ASSERT_FALSE(options.ok()) << words;
    EXPECT_EQ(options.failure().kind, ErrorKind::usage);
    EXPECT_NE(options.failure().message.find(words), std::string::npos) << options.failure().message;
  }
}

TEST(WithWholeNumbers, ALineBreaksNowhereBetweenANumberAndItsUnit) {
  const auto parts = [](const char* text) { return with_whole_numbers(text).split(' '); };
  EXPECT_EQ(parts("0 ns at 85.0 %, 3.44 GB read").size(), 5);
  EXPECT_EQ(parts("1.0 % ± <0.1 (T1)").size(), 3);
  EXPECT_EQ(parts("12 calls of 3 steps").size(), 5) << "no units";
  EXPECT_EQ(with_whole_numbers("1980 MHz").replace(QChar(QChar::Nbsp), ' '), "1980 MHz");
}

}  // namespace
}  // namespace ridgeline::gui
