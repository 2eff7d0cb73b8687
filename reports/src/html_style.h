// html_style.h: the report's style sheet. Colours are variables: light, dark by the reader's preference,
// and light again on paper.
#pragma once

namespace ridgeline::reports {

inline constexpr const char kStyle[] = R"css(
:root{color-scheme:light dark;--bg:#ffffff;--panel:#f5f6f8;--text:#1c2127;--soft:#5b6570;--line:#dde1e6;--track:#eceff2;
--good:#177a3c;--fair:#8a5a00;--bad:#b3261e;--good-bg:#e6f4ea;--fair-bg:#fdf3dc;--bad-bg:#fdeae8;--roof:#1c2127;--bar:#c9dafb;--on-bar:#ffffff;
--gemm:#2f6fde;--attention:#8a4fd3;--normalisation:#12917a;--elementwise:#d07010;--reduction:#a58a00;--copy:#6f8799;
--communication:#d2383f;--optimiser:#8f5b34;--embedding:#cc4a95;--classifier:#3f9b2e;--other:#85858c;
--gap-launch:#e0a23c;--gap-host:#d2573f;--gap-queued:#b077c9;--gap-unknown:#9aa3ad;--gap-tail:#c9ced4}
@media (prefers-color-scheme:dark){:root{--bg:#14171b;--panel:#1d2126;--text:#e6e9ed;--soft:#9aa5b1;--line:#323941;--track:#262c33;
--good:#6fd08c;--fair:#e8b95a;--bad:#ff8a80;--good-bg:#15301f;--fair-bg:#352a12;--bad-bg:#3a1c1a;--roof:#e6e9ed;--bar:#2c4470;--on-bar:#10141a;
--gemm:#6ea0ff;--attention:#b58af0;--normalisation:#3cc2a5;--elementwise:#f5a04a;--reduction:#dcc23f;--copy:#9db2c2;
--communication:#f2767b;--optimiser:#c48f63;--embedding:#ef8ac4;--classifier:#7fcf6a;--other:#a5a5ad;
--gap-launch:#e7b45e;--gap-host:#ec7b66;--gap-queued:#c795de;--gap-unknown:#7d8791;--gap-tail:#545d67}}
@media print{:root{color-scheme:light;--bg:#ffffff;--panel:#f5f6f8;--text:#000000;--soft:#444b52;--line:#c8cdd3;--track:#eceff2;
--good:#177a3c;--fair:#8a5a00;--bad:#b3261e;--good-bg:#e6f4ea;--fair-bg:#fdf3dc;--bad-bg:#fdeae8;--roof:#000000;--bar:#c9dafb;--on-bar:#ffffff;
--gemm:#2f6fde;--attention:#8a4fd3;--normalisation:#12917a;--elementwise:#d07010;--reduction:#a58a00;--copy:#6f8799;
--communication:#d2383f;--optimiser:#8f5b34;--embedding:#cc4a95;--classifier:#3f9b2e;--other:#85858c;
--gap-launch:#e0a23c;--gap-host:#d2573f;--gap-queued:#b077c9;--gap-unknown:#9aa3ad;--gap-tail:#c9ced4}
@page{size:A4 landscape;margin:12mm}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}section,figure,tr{break-inside:avoid}section.long{break-inside:auto}
h1,h2,h3,summary,figure+.legend{break-after:avoid}tfoot{display:table-row-group}
header{break-after:page}.glossary{break-inside:avoid}figure svg{max-height:150mm}
details::details-content{content-visibility:visible!important;block-size:auto!important;overflow:visible!important}summary{list-style:none}
main{max-width:none!important;padding:0!important}body{font-size:11px!important}.scroll{overflow:visible!important}
table{font-size:8.5px!important}td,th{padding:1px 3px!important;white-space:normal!important}
td.r,th.r{white-space:nowrap!important}td.name{font-size:7.5px!important;overflow-wrap:anywhere;min-width:110px}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1330px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:22px;margin:0 0 2px}h2{font-size:17px;margin:36px 0 6px}
p{margin:6px 0;overflow-wrap:anywhere}.soft,figcaption{color:var(--soft)}figcaption{font-size:12.5px;margin-top:6px}
code,.mono,td.name,svg .kernel{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12px}
.program{overflow-wrap:anywhere}
dl.facts{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:12px 0;font-size:13px}
dl.facts dt{color:var(--soft)}dl.facts dd{margin:0;overflow-wrap:anywhere}
.dominates{font-size:16px;font-weight:600;margin:12px 0 6px;overflow-wrap:anywhere}.dominates.warning{border-left:5px solid var(--fair);background:var(--fair-bg);padding:10px 16px;border-radius:4px}
.verdict{border-left:5px solid;padding:12px 16px;margin:12px 0 10px;font-size:16px;border-radius:4px}
.verdict.met{border-color:var(--good);background:var(--good-bg)}.verdict.missed{border-color:var(--bad);background:var(--bad-bg)}
.verdict.unknown{border-color:var(--fair);background:var(--fair-bg)}
.first{border-left:5px solid var(--gemm);background:var(--panel);padding:10px 16px;margin:12px 0 10px;border-radius:4px;overflow-wrap:anywhere}
.first p{margin:2px 0}.first p:first-child{font-size:16px;font-weight:600}
.notice{border-left:5px solid var(--line);background:var(--panel);padding:6px 14px;margin:6px 0;border-radius:4px;overflow-wrap:anywhere}
.notice b{text-transform:capitalize}.notice.error{border-color:var(--bad);background:var(--bad-bg)}.notice.warning{border-color:var(--fair);background:var(--fair-bg)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:12px 0}
.tile{background:var(--panel);border-radius:6px;padding:10px 14px}.tile b{display:block;white-space:nowrap;font-size:21px;line-height:1.25;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:12.5px}
.scroll{overflow-x:auto}
header h2{margin:16px 0 2px}.glossary{margin:2px 0}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th{font-weight:600;text-align:left;vertical-align:bottom;padding:4px 7px;border-bottom:2px solid var(--line)}
th small{display:block;font-weight:400;color:var(--soft)}
td{padding:3px 7px;border-bottom:1px solid var(--line);white-space:nowrap}
td.r,th.r{text-align:right}td.wrap{white-space:normal;min-width:160px;overflow-wrap:anywhere}
tfoot td{font-weight:600;border-top:2px solid var(--line);border-bottom:0}
td.good{color:var(--good)}td.fair{color:var(--fair)}td.bad{color:var(--bad)}td.dim{color:var(--soft)}td.strong{font-weight:600}
td.bar{background:linear-gradient(var(--bar),var(--bar)) no-repeat left center/var(--w) 72%}
.chip{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:7px}
.legend{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:12.5px;margin:4px 0}
figure{margin:12px 0}svg{display:block;width:100%;height:auto}
svg text{fill:var(--text);font-size:12.5px}svg .tick,svg .axis,svg .roof-label{fill:var(--soft);font-size:11.5px}
svg .number{font-variant-numeric:tabular-nums;fill:var(--soft)}svg .on-bar{fill:var(--on-bar);font-weight:600}
svg .grid{stroke:var(--line);stroke-width:1}svg .track{fill:var(--track)}svg .goal{stroke:var(--text);stroke-width:1.6}
svg .roof{stroke:var(--roof);stroke-width:1.8}svg .roof-target{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:6 4}
svg .dot{fill-opacity:.75;stroke:var(--bg);stroke-width:1}svg .dot-number{font-size:11.5px;font-weight:600}
svg .pale{fill-opacity:.35}
svg .dot-name{font-size:11.5px}svg .level{fill-opacity:.9;stroke:var(--bg);stroke-width:.6}svg .level-l1{fill-opacity:.35}
svg .level-line{stroke:var(--soft);stroke-width:1}svg .roof-cache{stroke:var(--soft);stroke-width:1.4}
svg .step-dot{fill:none;stroke:var(--text);stroke-width:2.2}svg .step-name{font-size:11.5px;font-weight:600}
/* Names are read across the lines that they lie on. */
svg .dot-name,svg .step-name,svg .roof-label{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}
svg .m-dram{fill:var(--elementwise)}svg .m-tensor{fill:var(--gemm)}
.k-gemm{fill:var(--gemm);background:var(--gemm)}.k-attention{fill:var(--attention);background:var(--attention)}
.k-normalisation{fill:var(--normalisation);background:var(--normalisation)}.k-elementwise{fill:var(--elementwise);background:var(--elementwise)}
.k-reduction{fill:var(--reduction);background:var(--reduction)}.k-copy{fill:var(--copy);background:var(--copy)}
.k-communication{fill:var(--communication);background:var(--communication)}.k-optimiser{fill:var(--optimiser);background:var(--optimiser)}
.k-embedding{fill:var(--embedding);background:var(--embedding)}.k-classifier{fill:var(--classifier);background:var(--classifier)}
.k-other{fill:var(--other);background:var(--other)}
.p-kernels{fill:var(--gemm)}.p-copies{fill:var(--copy)}.p-memsets{fill:var(--normalisation)}.p-gap-launch{fill:var(--gap-launch)}
.p-gap-host{fill:var(--gap-host)}.p-gap-wait{fill:var(--reduction)}.p-gap-queued{fill:var(--gap-queued)}.p-gap-unknown{fill:var(--gap-unknown)}.p-gap-tail{fill:var(--gap-tail)}.p-remainder{fill:var(--bad)}
.s-timeline{fill:var(--gemm)}.s-replay{fill:var(--attention)}.s-rest{fill:var(--gap-unknown)}.s-bad{fill:var(--bad)}
svg .chosen{stroke:var(--text);stroke-width:2}
@media screen and (max-width:900px){main{padding:16px 12px 40px}.opt{display:none}td,th{padding:3px 5px}
td.name{max-width:34vw;overflow:hidden;text-overflow:ellipsis}.tiles{grid-template-columns:repeat(auto-fit,minmax(120px,1fr))}.tile{padding:8px 10px}.tile b{font-size:17px}
dl.facts{grid-template-columns:1fr}dl.facts dd{margin-bottom:6px}}
details{margin:8px 0}summary{cursor:pointer;padding:4px 0}
footer{margin-top:40px;border-top:1px solid var(--line);padding-top:12px;color:var(--soft);font-size:12.5px}
)css";

}  // namespace ridgeline::reports
