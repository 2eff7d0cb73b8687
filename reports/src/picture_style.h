// picture_style.h: colours of a picture that is a file of its own: those of the report's light scheme, without
// variables, which not every viewer of SVG knows.
#pragma once

namespace ridgeline::reports {

inline constexpr const char kPictureStyle[] = R"css(
svg{background:#ffffff;font-family:system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
text{fill:#1c2127;font-size:12.5px}.tick,.axis,.roof-label{fill:#5b6570;font-size:11.5px}
.grid{stroke:#dde1e6;stroke-width:1}.roof{stroke:#1c2127;stroke-width:1.8}
.roof-target{stroke:#5b6570;stroke-width:1.2;stroke-dasharray:6 4}.roof-cache{stroke:#5b6570;stroke-width:1.4}
.dot{fill-opacity:.75;stroke:#ffffff;stroke-width:1}.dot-number{font-size:11.5px;font-weight:600}.dot-name{font-size:11.5px}
.level{fill-opacity:.9;stroke:#ffffff;stroke-width:.6}.level-l1{fill-opacity:.35}.level-line{stroke:#9aa3ad;stroke-width:1}
.step-dot{fill:none;stroke:#1c2127;stroke-width:2.2}.step-name{font-size:11.5px;font-weight:600}
.dot-name,.step-name,.roof-label{paint-order:stroke;stroke:#ffffff;stroke-width:3px;stroke-linejoin:round}
.k-gemm{fill:#2f6fde}.k-attention{fill:#8a4fd3}.k-normalisation{fill:#12917a}.k-elementwise{fill:#d07010}
.k-reduction{fill:#a58a00}.k-copy{fill:#6f8799}.k-communication{fill:#d2383f}.k-optimiser{fill:#8f5b34}
.k-embedding{fill:#cc4a95}.k-classifier{fill:#3f9b2e}.k-other{fill:#85858c}
)css";

}  // namespace ridgeline::reports
