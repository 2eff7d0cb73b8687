#include "picture_style.h"

#include <array>
#include <string_view>
#include <utility>

namespace ridgeline::reports {
namespace {

// `$name` stands for a colour of the theme.
constexpr std::string_view kPictureRules = R"css(
svg{background:$back;font-family:system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
text{fill:$text;font-size:12.5px}.tick,.axis,.roof-label,.key{fill:$soft;font-size:11.5px}
.grid{stroke:$line;stroke-width:1}.roof{stroke:$text;stroke-width:1.8}
.roof-target{stroke:$soft;stroke-width:1.2;stroke-dasharray:6 4}.roof-cache{stroke:$soft;stroke-width:1.4}
.dot{fill-opacity:.75;stroke:$back;stroke-width:1}.dot-number{font-size:11.5px;font-weight:600}.dot-name{font-size:11.5px}
.level{fill-opacity:.9;stroke:$back;stroke-width:.6}.level-l1{fill-opacity:.35}.level-line{stroke:$level;stroke-width:1}
.step-dot{fill:none;stroke:$text;stroke-width:2.2}.step-name{font-size:11.5px;font-weight:600}.title{font-weight:600}
.dot-name,.step-name,.roof-label{paint-order:stroke;stroke:$back;stroke-width:3px;stroke-linejoin:round}
.dot-inside{fill:$back;font-size:10.5px;font-weight:600}
.k-gemm{fill:$gemm}.k-attention{fill:$attention}.k-normalisation{fill:$normalisation}.k-elementwise{fill:$elementwise}
.k-reduction{fill:$reduction}.k-copy{fill:$copy}.k-communication{fill:$communication}.k-optimiser{fill:$optimiser}
.k-embedding{fill:$embedding}.k-classifier{fill:$classifier}.k-other{fill:$other}
)css";

struct Colour {
  std::string_view name, light, dark;
};

// Those of html_style.h.
constexpr std::array<Colour, 16> kColours{{{"back", "#ffffff", "#14171b"},
                                           {"text", "#1c2127", "#e6e9ed"},
                                           {"soft", "#5b6570", "#9aa5b1"},
                                           {"line", "#dde1e6", "#323941"},
                                           {"level", "#9aa3ad", "#7d8791"},
                                           {"gemm", "#2f6fde", "#6ea0ff"},
                                           {"attention", "#8a4fd3", "#b58af0"},
                                           {"normalisation", "#12917a", "#3cc2a5"},
                                           {"elementwise", "#d07010", "#f5a04a"},
                                           {"reduction", "#a58a00", "#dcc23f"},
                                           {"copy", "#6f8799", "#9db2c2"},
                                           {"communication", "#d2383f", "#f2767b"},
                                           {"optimiser", "#8f5b34", "#c48f63"},
                                           {"embedding", "#cc4a95", "#ef8ac4"},
                                           {"classifier", "#3f9b2e", "#7fcf6a"},
                                           {"other", "#85858c", "#a5a5ad"}}};

}  // namespace

PictureStyle picture_style(PictureTheme theme) {
  PictureStyle style;
  style.css = kPictureRules;
  for (const Colour& colour : kColours) {
    const std::string_view value = theme == PictureTheme::dark ? colour.dark : colour.light;
    const std::string mark = "$" + std::string(colour.name);
    for (std::size_t at = 0; (at = style.css.find(mark, at)) != std::string::npos;)
      style.css.replace(at, mark.size(), value);
    if (colour.name == "back") style.background = value;
  }
  return style;
}

}  // namespace ridgeline::reports
