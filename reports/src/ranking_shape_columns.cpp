// ranking_shape_columns.cpp: the ranking's columns of clocks and rates, and of how launches fill the device.
#include <fmt/format.h>

#include <algorithm>

#include "cells.h"
#include "ranking_columns.h"

namespace ridgeline::reports {

// Pipe × clock = share of the data sheet's peak: what a busy pipe is worth at the clock it ran at.
void add_rate_columns(std::vector<Column<RankingLine>>& columns) {
  columns.push_back({extra({.key = "sm_clock_hz",
                            .header = "SM",
                            .unit = "MHz",
                            .help = "SM clock while the launches ran: sampled cycles (T1) over their time; "
                                    "without samples in replay (T2)",
                            .title = "SM clock"}),
                     [](const RankingLine& l) { return Cell::number(l.row->sm_clock_hz, Form::megahertz); }});
  columns.push_back({extra_text({.key = "sm_clock_tier",
                                 .header = "clock by",
                                 .help = "tier of sm_clock_hz",
                                 .title = "tier of the SM clock"}),
                     [](const RankingLine& l) {
                       return l.row->sm_clock_hz ? Cell::text(to_string(l.row->clock_tier)) : Cell::missing();
                     }});
  columns.push_back(
      {extra({.key = "replay_clock_hz",
              .header = "replay",
              .unit = "MHz",
              .help = "SM clock in replay (T2)",
              .title = "SM clock in replay"}),
       [](const RankingLine& l) { return Cell::number(l.row->replay_clock_hz, Form::megahertz); }});
  columns.push_back(
      {extra_text({.key = "clock_limit",
                   .header = "held by",
                   .help = "what held the clock below the device's highest while the timeline was recorded",
                   .title = "what held the clock"}),
       [](const RankingLine& l) {
         return l.row->clock_limit.empty() ? Cell::missing() : Cell::text(l.row->clock_limit);
       }});
  columns.push_back(
      {extra_text(
           {.key = "precision",
            .header = "type",
            .help =
                "type of most tensor operations: `bf16`, `fp16`, `tf32`, `fp8`, `int8`, `fp64_tensor`; of a "
                "GEMM whose operations are not counted, what its kernel's name says, `fp32` and `fp64` "
                "too",
            .title = "type of the operations"}),
       [](const RankingLine& l) {
         const analyzer::RankingRow& row = *l.row;
         if (row.tensor_quantity) return Cell::text(std::string(analyzer::roof_name(*row.tensor_quantity)));
         if (row.name_precision == analyzer::Precision::any) return Cell::missing();
         return Cell::text(std::string(to_string(row.name_precision)));
       }});
  columns.push_back(
      {extra({.key = "tensor_ops_per_s",
              .header = "TFLOP/s",
              .help = "operations of the tensor pipe ÷ time, over the launches with any: counted (T2); "
                      "else, where the kernel's name says the type, pipe × operations a cycle × SMs × "
                      "clock (T1)",
              .title = "tensor operations a second",
              .title_unit = "TFLOP/s"}),
       [](const RankingLine& l) { return Cell::number(l.row->tensor_ops_per_s, Form::tera); }});
  columns.push_back(
      {extra_text({.key = "tensor_ops_tier",
                   .header = "by",
                   .help = "tier of tensor_ops_per_s: `T2` counted, `T1` from the pipe's samples",
                   .title = "tier of the operations"}),
       [](const RankingLine& l) {
         return l.row->tensor_ops_per_s ? Cell::text(to_string(l.row->tensor_ops_tier), Style::dim)
                                        : Cell::missing();
       }});
  columns.push_back(
      {extra({.key = "tensor_spec_ratio",
              .header = "of peak",
              .unit = "%",
              .help =
                  "that ÷ the peak of the type: the data sheet's, or the roof that was measured on the card "
                  "(`--roof`)",
              .title = "of the peak of that type"}),
       [](const RankingLine& l) { return Cell::number(l.row->tensor_spec_ratio, Form::percent); }});
}

// What the clock costs and the joules that launches take.
void add_power_columns(std::vector<Column<RankingLine>>& columns) {
  columns.push_back(
      {extra({.key = "clock_cost_ns",
              .header = "clock",
              .unit = "ms",
              .help =
                  "what the row would take less at the device's highest SM clock, by what bounds it and by "
                  "how its time followed the clock",
              .title = "cost of the clock"}),
       [](const RankingLine& l) { return Cell::number(l.row->clock_cost_ns, Form::milliseconds); }});
  columns.push_back(
      {extra({.key = "clock_loss_ratio",
              .header = "clock loss",
              .unit = "%",
              .help = "how far below the device's highest SM clock the row ran; `pipe` is of the cycles that "
                      "there were"}),
       [](const RankingLine& l) { return Cell::number(l.row->clock_loss_ratio, Form::percent); }});
  columns.push_back(
      {extra(
           {.key = "energy_j",
            .header = "energy",
            .unit = "J",
            .help = "joules by the energy model of the measured ceilings, the device's own watts included"}),
       [](const RankingLine& l) { return Cell::number(l.row->energy_j, Form::general); }});
}

// From the launch's configuration, the kernel's name and what the program declares: nothing here is measured.
void add_shape_columns(std::vector<Column<RankingLine>>& columns) {
  using analyzer::RankingRow;
  columns.push_back(
      {extra_text({.key = "product",
                   .header = "M×N×K",
                   .help = "the GEMM [M, K] × [K, N] that the program declares for the range of most of the "
                           "time; `+2`: two others too",
                   .title = "GEMM M×N×K"}),
       [](const RankingLine& l) {
         if (!l.row->work || !l.row->work->gemm) return Cell::missing();
         const analyzer::GemmShape& p = *l.row->work->gemm;
         std::string text = fmt::format("{}×{}×{}", p.m, p.n, p.k);
         std::string words = text;
         if (l.row->work->gemms > 1) words += fmt::format(" +{}", l.row->work->gemms - 1);
         return Cell::worded(std::move(words), std::move(text));
       }});
  columns.push_back(
      {extra_text({.key = "tile",
                   .header = "tile",
                   .help = "what a block of a GEMM computes, MxNxK, as its kernel's name says",
                   .title = "tile of the GEMM"}),
       [](const RankingLine& l) { return l.row->tile.empty() ? Cell::missing() : Cell::text(l.row->tile); }});
  columns.push_back(
      {extra({.key = "alignment_elements",
              .header = "align",
              .help =
                  "elements that a load of the kernel takes at once, as its name says: `align1` is a GEMM "
                  "with an odd dimension",
              .title = "elements a load"}),
       [](const RankingLine& l) {
         if (!l.row->alignment) return Cell::missing();
         return Cell::number(*l.row->alignment, Form::plain,
                             *l.row->alignment == 1 ? Style::bad : Style::plain);
       }});
  const auto ratio = [&](const char* key, const char* header, const char* unit, const char* help,
                         const char* title, std::optional<double> RankingRow::*value, Form form) {
    columns.push_back({extra({.key = key,
                              .header = header,
                              .unit = unit,
                              .help = help,
                              .title = title,
                              .title_unit = form == Form::percent ? "%" : ""}),
                       [value, form](const RankingLine& l) { return Cell::number(l.row->*value, form); }});
  };
  ratio(
      "tile_waste_ratio", "tile", "waste %",
      "of the results that the tiles compute, the share outside M×N, at least: a name does not say which way "
      "round the tile lies",
      "tile waste", &RankingRow::tile_waste_ratio, Form::percent);
  ratio("waves", "waves", "",
        "blocks ÷ blocks that fit on the device at once, by threads, registers and shared memory", "waves",
        &RankingRow::waves, Form::ratio);
  ratio("wave_waste_ratio", "idle", "wave %",
        "of the last wave, places without a block; below one wave, SMs without one", "idle in the last wave",
        &RankingRow::wave_waste_ratio, Form::percent);
  ratio("theoretical_occupancy_ratio", "theor.", "occ. %",
        "theoretical occupancy: warps of the blocks that fit on an SM ÷ the most it holds",
        "theoretical occupancy", &RankingRow::theoretical_occupancy_ratio, Form::percent);
}

}  // namespace ridgeline::reports
