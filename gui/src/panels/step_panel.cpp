#include "panels/step_panel.h"

#include <QEvent>
#include <QMenu>
#include <algorithm>
#include <set>

#include "models/text.h"
#include "panels/phase_legend.h"
#include "ridgeline/base/units.h"
#include "ridgeline/queries/step_pace_query.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/finding_text.h"
#include "style/theme.h"

namespace ridgeline::gui {

using analyzer::GapKind;
using analyzer::KernelBound;

namespace {

QLabel* wrapped_heading(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  label->setWordWrap(true);
  return label;
}

KernelBound largest(const analyzer::BoundSplit& split) {
  const std::pair<std::int64_t, KernelBound> all[] = {
      {split.memory_ns, KernelBound::memory},   {split.compute_ns, KernelBound::compute},
      {split.latency_ns, KernelBound::latency}, {split.too_short_ns, KernelBound::too_short},
      {split.no_roof_ns, KernelBound::no_roof}, {split.unmeasured_ns, KernelBound::unmeasured}};
  return std::max_element(std::begin(all), std::end(all),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

// Mean of what the driver said while the step ran; a step shorter than the interval has the sample before its end.
using Sampled = std::optional<double> (*)(const store::ClockSample&);
std::optional<double> during(const analyzer::Model& recording, const analyzer::StepSummary& step,
                             store::Id device, Sampled value) {
  double sum = 0, count = 0;
  std::optional<double> before;
  for (const store::ClockSample& sample : recording.clock_samples) {
    if (sample.device_id != device || !value(sample)) continue;
    if (sample.time_ns > step.gpu_end_ns) break;
    before = value(sample);
    if (sample.time_ns < step.gpu_start_ns) continue;
    sum += *before;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : before;
}

std::optional<double> watts(const store::ClockSample& sample) {
  return sample.power_mw ? std::optional(static_cast<double>(*sample.power_mw) / 1000) : std::nullopt;
}
std::optional<double> clock_hz(const store::ClockSample& sample) {
  return sample.sm_clock_hz ? std::optional(static_cast<double>(*sample.sm_clock_hz)) : std::nullopt;
}

double largest_of(const std::vector<std::optional<double>>& values) {
  double most = 0;
  for (const auto& value : values) most = std::max(most, value.value_or(0));
  return most;
}

// What the collectives cost beside what they take: none of it is a part of its own, for it lies in the kernels' time.
QString communication_words(const analyzer::Accounting& accounting) {
  if (accounting.communication_sum_ns <= 0) return {};
  return StepPanel::tr("Collectives run for %1: %2 exposed (%3 of the %4), %5 hidden behind other kernels")
      .arg(time_words(accounting.communication_sum_ns), time_words(accounting.communication_exposed_ns),
           plain(percent_text(static_cast<double>(accounting.communication_exposed_ns) /
                              static_cast<double>(std::max<std::int64_t>(accounting.step_ns, 1)))),
           plain(reports::scope_noun(accounting.scope)), time_words(accounting.communication_hidden_ns));
}

QString scope_words(const ScopeAnswer& answer) {
  const analyzer::RepresentativeStep& step = answer.steps->representative;
  if (!answer.scope.window || !answer.scope.range.empty() || answer.scope.calls)
    return shown(reports::step_line(*answer.steps));
  QString text = StepPanel::tr("The chosen range, %1").arg(time_words(answer.accounting->step_ns));
  if (step.cut_launches > 0) {
    text += StepPanel::tr("; of %1 that its edges cut counts what lies inside")
                .arg(plain(counted(step.cut_launches, "launch", "launches")));
  }
  return text;
}

}  // namespace

std::vector<BarPart> accounting_parts(const analyzer::Accounting& a) {
  const Theme& t = theme();
  const analyzer::BoundSplit& k = a.kernels.total;
  const auto ns = [](std::int64_t value) { return static_cast<double>(value); };
  // In the time of a range run the kernels of others; in a window every kernel that ran is its own.
  const char* const others = a.scope == analyzer::ScopeKind::step    ? "kernels of other steps"
                             : a.scope == analyzer::ScopeKind::range ? "kernels of other ranges"
                                                                     : "kernels of others";
  std::vector<BarPart> parts = {
      {"memory-bound kernels", ns(k.memory_ns), t.of(KernelBound::memory)},
      {"compute-bound kernels", ns(k.compute_ns), t.of(KernelBound::compute)},
      {"latency-bound kernels", ns(k.latency_ns), t.of(KernelBound::latency)},
      {"kernels too short for a roof", ns(k.too_short_ns), t.of(KernelBound::too_short)},
      {"kernels without a roof", ns(k.no_roof_ns), t.of(KernelBound::no_roof)},
      {"kernels not measured", ns(k.unmeasured_ns), t.of(KernelBound::unmeasured)},
      {others, ns(a.kernels.foreign_ns), t.line},
      {"copies, exposed", ns(a.copy_exposed_ns), t.of(KernelClass::copy)},
      {"memsets, exposed", ns(a.memset_exposed_ns), t.of(KernelClass::other)},
      {"gap: launch-bound", ns(a.gap_launch_bound_ns), t.of(GapKind::launch_bound)},
      {"gap: CPU-bound", ns(a.gap_host_bound_ns), t.of(GapKind::host_bound)},
      {"gap: synchronisation", ns(a.gap_synchronisation_ns.value_or(0)), t.of(GapKind::synchronisation)},
      {"gap: queued", ns(a.gap_queued_ns), t.of(GapKind::queued)},
      {"gap: unknown", ns(a.gap_unknown_ns), t.of(GapKind::unknown)},
      {"gap: tail", ns(a.gap_tail_ns), t.of(GapKind::tail)},
      {"remainder", ns(a.remainder_ns), t.text}};
  return parts;
}

std::vector<BarPart> without_crumbs(std::vector<BarPart> parts, double whole) {
  constexpr double kCrumb = 0.0005;  // of the whole: it would be told as 0.0 %
  const auto is_crumb = [&](const BarPart& part) { return part.value < kCrumb * whole; };
  std::erase_if(parts, [](const BarPart& part) { return part.value <= 0; });
  if (std::count_if(parts.begin(), parts.end(), is_crumb) < 2) return parts;
  BarPart rest{{}, 0, theme().line};
  QStringList names;
  for (const BarPart& part : parts) {
    if (!is_crumb(part)) continue;
    names << part.label;
    rest.value += part.value;
  }
  rest.label = StepPanel::tr("%1 smaller: %2").arg(names.size()).arg(names.join("; "));
  std::erase_if(parts, is_crumb);
  parts.push_back(rest);
  return parts;
}

std::vector<FlameBox> flame_boxes(const std::vector<analyzer::TimePart>& tree, std::string_view noun) {
  std::vector<FlameBox> boxes(tree.size());
  std::vector<double> used(tree.size());
  double all = 0, roots = 0;
  for (const analyzer::TimePart& part : tree) {
    if (!part.parent) all += static_cast<double>(part.time.total_ns());
  }
  if (all <= 0) return {};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const analyzer::TimePart& part = tree[i];
    const double share = static_cast<double>(part.time.total_ns()) / all;
    double& offset = part.parent ? used[*part.parent] : roots;
    FlameBox& box = boxes[i];
    box.from = (part.parent ? boxes[*part.parent].from : 0) + offset;
    box.to = box.from + share;
    offset += share;
    box.depth = part.depth;
    box.label = shown(part.name);
    box.key = part.path;
    const KernelBound bound = largest(part.time);
    box.colour = theme().of(bound);
    box.help = QString("%1\n%2 of kernel time, %3 of the %6's; %4\nmostly %5")
                   .arg(shown(part.path.empty() ? part.name : part.path), time_words(part.time.total_ns()),
                        plain(percent_text(share)), plain(counted(part.launches, "launch", "launches")),
                        plain(reports::in_words(to_string(bound))), plain(noun));
  }
  return boxes;
}

StepPanel::StepPanel(CaptureDocument& document, Selection& selection, QWidget* parent)
    : ScopePanel(document, selection, "step", parent) {
  setMinimumWidth(330);
  auto* area = new QScrollArea(this);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* page = new QWidget(area);
  auto* column = new QVBoxLayout(page);
  column->setSpacing(6);
  title_ = wrapped_heading({}, page);
  bar_parts_ = new StackedBar(page);
  communication_ = new QLabel(page);
  communication_->setWordWrap(true);
  communication_->setTextFormat(Qt::PlainText);
  flame_title_ = wrapped_heading(tr("Kernel time by NVTX range, coloured by what bounds it"), page);
  flame_ = new FlameChart(page);
  steps_ = new ColumnChart(page);
  outliers_ = new QLabel(page);
  outliers_->setWordWrap(true);
  outliers_->setTextFormat(Qt::PlainText);
  bar_parts_->setAccessibleName(tr("Where the time went"));
  flame_->setAccessibleName(tr("Kernel time by NVTX range"));
  steps_->setAccessibleName(tr("GPU time of each step"));
  column->addWidget(title_);
  column->addWidget(bar_parts_);
  column->addWidget(communication_);
  steps_title_ = wrapped_heading(tr("GPU time of the steps; a click chooses one"), page);
  column->addWidget(steps_title_);
  column->addWidget(steps_);
  column->addWidget(flame_title_);
  column->addWidget(flame_);
  column->addWidget(outliers_);  // below what is to be clicked
  column->addStretch(1);
  area->setWidget(page);
  body()->addWidget(area, 1);
  back_ = new QToolButton(this);
  back_->setText(tr("Back to the representative step"));
  back_->hide();
  bar()->addWidget(back_);
  connect(flame_, &FlameChart::box_chosen, this, [this](std::size_t box) {
    const std::string& path = flame_->boxes()[box].key;
    if (!path.empty()) choose_part(path);
  });
  connect(flame_, &FlameChart::menu_asked, this, [this](std::size_t box, const QPoint& at) {
    const std::string path = flame_->boxes()[box].key;
    if (path.empty()) return;
    QMenu menu(this);
    menu.addAction(tr("Show this NVTX range in all steps"), this,
                   [this, path] { selection_.select_nvtx(path); });
    menu.addAction(tr("Mark its kernels"), this,
                   [this, path] { selection_.select_kernel(kernels_inside(path)); });
    menu.exec(at);
  });
  connect(flame_, &FlameChart::box_hovered, this, [this](std::size_t box) {
    if (box < kernels_of_boxes_.size())
      selection_.hover_kernel({kernels_of_boxes_[box], flame_->boxes()[box].key});
  });
  connect(flame_, &FlameChart::hover_left, this, [this] { selection_.hover_kernel({}); });
  connect(&selection_, &Selection::kernel_changed, this,
          [this] { flame_->set_chosen(boxes_with(selection_.kernel())); });
  // What the mouse is on lights up here too, but for a whole range: that would light all of it.
  connect(&selection_, &Selection::hover_changed, this, [this] {
    flame_->set_hovered(selection_.hovered().kernels.size() == 1 ? boxes_with(selection_.hovered())
                                                                 : std::vector<bool>{});
  });
  ask_pace();
  connect(back_, &QToolButton::clicked, this, [this] { choose_step(std::nullopt); });
  connect(steps_, &ColumnChart::column_chosen, this, [this](int column_at) {
    const analyzer::StepSummary& step =
        document_.overview()->steps->steps[shown_steps_[static_cast<std::size_t>(column_at)]];
    selection_.show({step.gpu_start_ns, std::max(step.gpu_end_ns, step.gpu_start_ns + 1)});
    choose_step(step.step_index);
  });
  start();
}

KernelChoice StepPanel::kernels_inside(const std::string& path) const {
  KernelChoice choice;
  choice.name = path;
  for (const analyzer::LaunchUtilisation& launch : answer()->utilisation->launches) {
    const std::string_view own =
        answer()->model->string(answer()->model->launches.site(launch.launch).nvtx_path_id);
    if (own == path || (own.starts_with(path) && own.substr(path.size()).starts_with(" / ")))
      choice.kernels.push_back(launch.kernel_id);
  }
  std::sort(choice.kernels.begin(), choice.kernels.end());
  choice.kernels.erase(std::unique(choice.kernels.begin(), choice.kernels.end()), choice.kernels.end());
  return choice;
}

// A launch counts for its range and for all round it.
void StepPanel::find_kernels_of_boxes(const ScopeAnswer& answer) {
  const auto& tree = answer.accounting->kernels.tree;
  std::map<std::string_view, std::size_t> box_of;
  for (std::size_t i = 0; i < tree.size(); ++i) box_of.emplace(tree[i].path, i);
  std::vector<std::set<store::Id>> kernels(tree.size());
  std::map<std::optional<store::Id>, std::optional<std::size_t>> of_path;
  for (const analyzer::LaunchUtilisation& launch : answer.utilisation->launches) {
    const std::optional<store::Id> path = answer.model->launches.site(launch.launch).nvtx_path_id;
    const auto [known, added] = of_path.try_emplace(path);
    if (added) {
      const auto found = box_of.find(answer.model->string(path));
      if (found != box_of.end()) known->second = found->second;
    }
    if (known->second) kernels[*known->second].insert(launch.kernel_id);
  }
  // Parents come before what they hold.
  for (std::size_t i = tree.size(); i > 0; --i) {
    if (tree[i - 1].parent) kernels[*tree[i - 1].parent].insert(kernels[i - 1].begin(), kernels[i - 1].end());
  }
  kernels_of_boxes_.clear();
  for (const auto& each : kernels) kernels_of_boxes_.emplace_back(each.begin(), each.end());
}

std::vector<bool> StepPanel::boxes_with(const KernelChoice& kernel) const {
  std::vector<bool> boxes(kernels_of_boxes_.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    boxes[i] = std::any_of(kernels_of_boxes_[i].begin(), kernels_of_boxes_[i].end(),
                           [&](store::Id id) { return kernel.holds(id); });
  }
  return boxes;
}

void StepPanel::set_kernel_times(const std::map<store::Id, double>& times_ns) {
  kernel_times_ = times_ns;
  show_steps();
}

void StepPanel::choose_step(std::optional<std::int64_t> step_index) {
  chosen_ = step_index;
  back_->setVisible(chosen_.has_value());
  set_steps(step_index ? analyzer::StepSelection::one(*step_index) : analyzer::StepSelection{});
}

// A box stands for what its range launched in the step or range that is shown; all panels then show that.
void StepPanel::choose_part(const std::string& path) {
  const analyzer::RepresentativeStep& step = answer()->steps->representative;
  if (selection_.range()) {
    selection_.narrow_to_nvtx(path);
  } else if (!step.whole_recording && step.summary.step_id != 0 && step.instances == 0) {
    selection_.select_nvtx(path, step.summary.step_index);
  } else {
    selection_.select_nvtx(path);
  }
}

// Bars, boxes and columns keep the colours that they were made with.
void StepPanel::changeEvent(QEvent* event) {
  ScopePanel::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && answer()) show_answer(*answer());
}

void StepPanel::show_answer(const ScopeAnswer& answer) {
  const analyzer::Accounting& accounting = *answer.accounting;
  title_->setText(scope_words(answer));
  // Which step it is of itself stands in the headline.
  title_->setVisible(title_->text() != shown(reports::step_line(*document_.overview()->steps)));
  bar_parts_->set_parts(without_crumbs(accounting_parts(accounting), static_cast<double>(accounting.step_ns)),
                        static_cast<double>(accounting.step_ns));
  communication_->setText(with_whole_numbers(communication_words(accounting)));
  communication_->setVisible(!communication_->text().isEmpty());
  flame_->set_boxes(flame_boxes(accounting.kernels.tree, reports::scope_noun(accounting.scope)));
  find_kernels_of_boxes(answer);
  flame_->set_chosen(boxes_with(selection_.kernel()));
  flame_->setVisible(!flame_->boxes().empty());
  flame_title_->setVisible(!flame_->boxes().empty());
  show_steps();
}

// Of all steps, so once.
void StepPanel::ask_pace() {
  using Pace = std::vector<analyzer::StepPace>;
  document_.ask<Pace>(
      this, "step-pace",
      [path = document_.path().toStdString(), steps = document_.overview()->steps](
          analyzer::Session&, const analyzer::QueryOptions& how) -> Result<Pace> {
        const Result<store::Capture> capture = store::Capture::open(path);
        if (!capture) return capture.failure();
        return queries::ask_step_pace(capture.value(), *steps, how.stop);
      },
      [this](Result<Pace> pace) {
        if (!pace) return;  // the columns say what is known without
        pace_ = std::move(pace).value();
        show_steps();
      });
}

std::optional<double> StepPanel::rate_of(std::size_t step, bool tokens) const {
  if (step >= pace_.size()) return std::nullopt;
  return tokens ? pace_[step].tokens_per_s : pace_[step].steps_per_s;
}

std::optional<double> StepPanel::held_of(std::size_t step) const {
  if (step >= pace_.size() || !pace_[step].allocated_bytes) return std::nullopt;
  return static_cast<double>(*pace_[step].allocated_bytes);
}

QString StepPanel::step_words(std::size_t step_at, bool tokens) const {
  const analyzer::StepSummary& step = document_.overview()->steps->steps[step_at];
  QString words = tr("step %1 · %2 · %3\n%4, %5")
                      .arg(step.step_index)
                      .arg(plain(to_string(step.phase)), plain(to_string(step.status)),
                           time_words(static_cast<double>(step.gpu_duration_ns)),
                           plain(counted(step.launches, "launch", "launches")));
  if (const auto power = during(*document_.recording(), step, document_.device_id(), watts))
    words += tr(", %1 W").arg(plain(fixed(*power, 0)));
  const auto found = kernel_times_.find(step.step_id);
  if (found != kernel_times_.end() && found->second > 0)
    words += tr("\nthe chosen kernel: %1").arg(time_words(found->second));
  if (const auto clock = during(*document_.recording(), step, document_.device_id(), clock_hz))
    words += ", " + plain(clock_text(*clock));
  if (const auto rate = rate_of(step_at, tokens))
    words += "\n" + plain(reports::rate_text(*rate)) + (tokens ? tr(" tokens/s") : tr(" steps/s"));
  if (const auto held = held_of(step_at)) words += tr(", %1 of memory held").arg(plain(bytes_text(*held)));
  return words;
}

void StepPanel::show_steps() {
  const analyzer::StepAnalysis& steps = *document_.overview()->steps;
  steps_title_->setVisible(document_.has_steps());
  steps_->setVisible(document_.has_steps());
  if (!document_.has_steps()) return outliers_->hide();
  std::vector<std::int64_t> outliers;
  QStringList said;
  // Of the whole analysis, which has the clock's part in it.
  for (const analyzer::Finding& finding : document_.analysis()->quality.findings) {
    if (finding.code != analyzer::FindingCode::steps_outlier) continue;
    outliers.insert(outliers.end(), finding.subject.steps.begin(), finding.subject.steps.end());
    said << "▲ " + shown(reports::finding_text(finding));
  }
  outliers_->setText(with_whole_numbers(said.join('\n')));
  outliers_->setVisible(!said.isEmpty());
  const std::int64_t current = chosen_.value_or(steps.representative.summary.step_index);
  std::vector<SeriesPoint> points;
  std::vector<std::optional<double>> power, clock, rate, held;
  bool tokens = false;
  for (const analyzer::StepPace& pace : pace_) tokens = tokens || pace.tokens_per_s;
  shown_steps_.clear();
  std::set<Phase> phases;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const analyzer::StepSummary& step = steps.steps[i];
    if (step.process_id != steps.process_id || step.gpu_start_ns == 0) continue;
    SeriesPoint point;
    point.value = static_cast<double>(step.gpu_duration_ns);
    point.colour = theme().of(step.phase);
    phases.insert(step.phase);
    point.chosen = step.step_index == current && !steps.representative.whole_recording;
    if (const auto found = kernel_times_.find(step.step_id); found != kernel_times_.end())
      point.part = found->second;
    point.outlier = std::find(outliers.begin(), outliers.end(), step.step_index) != outliers.end();
    power.push_back(during(*document_.recording(), step, document_.device_id(), watts));
    clock.push_back(during(*document_.recording(), step, document_.device_id(), clock_hz));
    rate.push_back(rate_of(i, tokens));
    held.push_back(held_of(i));
    points.push_back(point);
    shown_steps_.push_back(i);
  }
  steps_->set_points(
      std::move(points), [](double value) { return time_words(value); },
      [this, tokens](std::size_t column) { return step_words(shown_steps_[column], tokens); });
  steps_->set_legend(phase_legend(phases));
  const QString watt_words = tr("power, at most %1 W").arg(plain(fixed(largest_of(power), 0)));
  const QString clock_words = tr("SM clock, at most %1").arg(plain(clock_text(largest_of(clock))));
  const QString rate_words = (tokens ? tr("at most %1 tokens/s") : tr("at most %1 steps/s"))
                                 .arg(plain(reports::rate_text(largest_of(rate))));
  const QString held_words = tr("memory held, at most %1").arg(plain(bytes_text(largest_of(held))));
  steps_->set_lines({{std::move(power), watt_words},
                     {std::move(clock), clock_words},
                     {std::move(rate), rate_words},
                     {std::move(held), held_words}});
}

}  // namespace ridgeline::gui
