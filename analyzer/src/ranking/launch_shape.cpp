#include "ridgeline/analyzer/ranking/launch_shape.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "ridgeline/analyzer/ranking/occupancy.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::int64_t kMaxBlocksInGrid = std::int64_t{1} << 40;  // a damaged capture may claim any grid

std::int64_t whole_waves(std::int64_t blocks, std::int64_t places) {
  return (blocks + places - 1) / places;
}

std::int64_t product_of(const store::Dim3& dim) {
  const auto bounded = [](std::int64_t value) {
    return std::clamp<std::int64_t>(value, 1, kMaxBlocksInGrid);
  };
  const double product = static_cast<double>(bounded(dim.x)) * static_cast<double>(bounded(dim.y)) *
                         static_cast<double>(bounded(dim.z));
  return product > static_cast<double>(kMaxBlocksInGrid) ? kMaxBlocksInGrid
                                                         : bounded(dim.x) * bounded(dim.y) * bounded(dim.z);
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// "128x256" and its kind at the start of `text`, taken from it; as many numbers as there are, three at most.
std::vector<std::int64_t> take_sizes(std::string_view& text) {
  std::vector<std::int64_t> sizes;
  while (sizes.size() < 3) {
    std::int64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc{} || number <= 0 || number > 4096) break;
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    sizes.push_back(number);
    if (text.size() < 2 || text[0] != 'x' || !is_digit(text[1])) break;
    text.remove_prefix(1);
  }
  return sizes;
}

std::string text_of(const Tile& tile) {
  return std::to_string(tile.m) + "x" + std::to_string(tile.n) +
         (tile.k > 0 ? "x" + std::to_string(tile.k) : "");
}

// What a row's launches have in common.
class RowShape {
 public:
  void add(const LaunchShape& shape, std::int64_t duration_ns) {
    const auto weight = static_cast<double>(std::max<std::int64_t>(duration_ns, 1));
    weight_ += weight;
    waves_ += weight * shape.waves;
    idle_ += weight * shape.idle_ratio;
    occupancy_ += weight * shape.occupancy_ratio;
  }
  void write_to(RankingRow& row) const {
    if (weight_ <= 0) return;
    row.waves = waves_ / weight_;
    row.wave_waste_ratio = idle_ / weight_;
    row.theoretical_occupancy_ratio = occupancy_ / weight_;
  }

 private:
  double weight_ = 0, waves_ = 0, idle_ = 0, occupancy_ = 0;
};

void read_name(RankingRow& row) {
  if (row.kernel_class != KernelClass::gemm) return;
  row.name_precision = precision_in_name(row.kernel);
  row.alignment = alignment_in_name(row.kernel);
  const std::optional<Tile> tile = tile_in_name(row.kernel);
  if (!tile) return;
  row.tile = text_of(*tile);
  if (row.work && row.work->gemm) row.tile_waste_ratio = tile_waste(*row.work->gemm, *tile);
}

}  // namespace

std::optional<LaunchShape> launch_shape(const store::Device& device, const store::Launch& launch) {
  const auto occupancy = theoretical_occupancy(launch, device.compute_capability.value_or(""));
  const std::int64_t sms = device.sm_count.value_or(0);
  if (!occupancy || sms <= 0) return std::nullopt;
  LaunchShape shape;
  shape.blocks = product_of(launch.grid);
  shape.blocks_per_sm = occupancy->blocks;
  const std::int64_t places = sms * shape.blocks_per_sm;
  shape.waves = static_cast<double>(shape.blocks) / static_cast<double>(places);
  shape.idle_ratio = shape.blocks > places
                         ? 1 - shape.waves / static_cast<double>(whole_waves(shape.blocks, places))
                         : 1 - static_cast<double>(std::min(shape.blocks, sms)) / static_cast<double>(sms);
  shape.occupancy_ratio = occupancy->ratio();
  return shape;
}

std::optional<Tile> tile_in_name(std::string_view kernel) {
  constexpr std::string_view kTileSize = "tilesize";
  if (const std::size_t at = kernel.find(kTileSize); at != std::string_view::npos) {
    std::string_view rest = kernel.substr(at + kTileSize.size());
    const auto sizes = take_sizes(rest);
    if (sizes.size() < 2) return std::nullopt;
    return Tile{sizes[0], sizes[1], sizes.size() > 2 ? sizes[2] : 0};
  }
  std::optional<Tile> tile;
  for (std::size_t at = 0; at + 1 < kernel.size(); ++at) {
    if (kernel[at] != '_' || !is_digit(kernel[at + 1])) continue;
    std::string_view rest = kernel.substr(at + 1);
    const auto sizes = take_sizes(rest);
    if (sizes.size() < 2 || (!rest.empty() && std::isalnum(static_cast<unsigned char>(rest.front())) != 0))
      continue;
    // The first pair is the tile, the next says how deep it is and how many stages of it are held.
    if (tile) {
      tile->k = sizes[0];
      return tile;
    }
    tile = Tile{sizes[0], sizes[1], sizes.size() > 2 ? sizes[2] : 0};
    if (tile->k > 0) return tile;
  }
  return tile;
}

std::optional<std::int64_t> alignment_in_name(std::string_view kernel) {
  for (const std::string_view word : {std::string_view("_align"), std::string_view("_ldg")}) {
    const std::size_t at = kernel.find(word);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = kernel.substr(at + word.size());
    std::int64_t elements = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), elements);
    if (read.ec == std::errc{} && elements >= 1 && elements <= 16) return elements;
  }
  return std::nullopt;
}

double tile_waste(const GemmShape& gemm, const Tile& tile) {
  const auto m = static_cast<double>(gemm.m), n = static_cast<double>(gemm.n);
  const auto computed = [&](std::int64_t of_m, std::int64_t of_n) {
    const auto rows = static_cast<double>(of_m), columns = static_cast<double>(of_n);
    return std::ceil(m / rows) * rows * std::ceil(n / columns) * columns;
  };
  return 1 - m * n / std::min(computed(tile.m, tile.n), computed(tile.n, tile.m));
}

Precision precision_in_name(std::string_view kernel) {
  // cuBLAS's own kernels begin with the types of A, of the sum and of D: t is BF16, h FP16, q and r are the FP8 ones.
  if (constexpr std::string_view kNvjet = "nvjet_"; kernel.starts_with(kNvjet)) {
    std::string_view rest = kernel.substr(kNvjet.size());
    if (rest.starts_with("sm")) rest.remove_prefix(std::min(rest.find('_'), rest.size() - 1) + 1);
    switch (rest.empty() ? '\0' : rest.front()) {
      case 't':
        return Precision::bf16;
      case 'h':
        return Precision::fp16;
      case 'q':
      case 'r':
        return Precision::fp8;
      default:
        return Precision::any;
    }
  }
  struct Mark {
    std::string_view text;
    Precision precision;
  };
  // The narrowest first: a name also says what is summed and written.
  static constexpr Mark kMarks[] = {
      {"e4m3", Precision::fp8},       {"e5m2", Precision::fp8},
      {"fp8", Precision::fp8},        {"i8i8", Precision::int8},
      {"s8s8", Precision::int8},      {"bf16", Precision::bf16},
      {"f16f16", Precision::fp16},    {"fp16", Precision::fp16},
      {"h16816", Precision::fp16},    {"s16816gemm_f16", Precision::fp16},
      {"hgemm", Precision::fp16},     {"tf32", Precision::tf32},
      {"s1688gemm", Precision::tf32}, {"dgemm", Precision::fp64},
      {"d884", Precision::fp64},      {"sgemm", Precision::fp32},
  };
  for (const Mark& mark : kMarks) {
    if (kernel.find(mark.text) != std::string_view::npos) return mark.precision;
  }
  return Precision::any;
}

void describe_shapes(const Model& model, const UtilisationAnalysis& utilisation, Ranking& ranking) {
  const auto& launches = utilisation.launches;
  std::vector<std::optional<LaunchShape>> of_site;
  for (const store::Launch& site : model.launches.sites()) {
    const store::Device* device = model.device(site.device_id);
    of_site.push_back(device == nullptr ? std::nullopt : launch_shape(*device, site));
  }
  // A row may have millions of launches, and few groups, each of one site.
  std::vector<const LaunchShape*> of_group;
  for (const LaunchUtilisations::Group& group : launches.groups()) {
    const auto& shape = of_site[model.launches.row(launches.row(group.longest).launch).site];
    of_group.push_back(shape ? &*shape : nullptr);
  }
  for (RankingRow& row : ranking.rows) {
    if (row.launches.empty()) continue;
    RowShape shape;
    const store::Id kernel_id = launches.group_of(row.launches.front()).kernel_id;
    bool one_kernel = true;
    std::optional<LaunchUtilisations::GroupIndex> last;
    for (const std::size_t index : row.launches) {
      const LaunchUtilisations::Row& item = launches.row(index);
      if (item.group != last) one_kernel = one_kernel && launches.groups()[item.group].kernel_id == kernel_id;
      last = item.group;
      if (const LaunchShape* known = of_group[item.group]) shape.add(*known, item.duration_ns);
    }
    shape.write_to(row);
    if (one_kernel) read_name(row);
  }
}

}  // namespace ridgeline::analyzer
