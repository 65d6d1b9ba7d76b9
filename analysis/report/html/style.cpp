#include "analysis/report/html/style.hpp"

namespace ddpprof::report::html {

// The colours of series are Okabe and Ito's set for all kinds of colour vision (Color Universal Design, 2008), darker
// on light paper and lighter on dark paper where contrast requires it. The text contains no '<' and '&', so that the
// page is valid XML.
std::string_view style() {
  return R"css(
:root { color-scheme: light dark;
  --paper: #ffffff; --ink: #1c2126; --quiet: #5a6570; --rule: #d5dbe0; --soft: #f3f5f7; --link: #005a96;
  --c0: #0072b2; --c1: #c45100; --c2: #008a63; --c3: #a8588a; --c4: #8a6d00; --c5: #2b8cc4; --c6: #444444;
  --compute: #0072b2; --exposed: #d55e00; --waiting: #e69f00; --host: #7f4f24; --other: #9aa3ab;
  --bad: #a3230f; --bad-soft: #fbe6e1; --warn: #7a5200; --warn-soft: #fdf0d0; --good: #00664a; --good-soft: #ddf2ea; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #15191d; --ink: #e4e8ec; --quiet: #a0aab4; --rule: #353d45; --soft: #1e242a; --link: #7cc0f0;
  --c0: #56b4e9; --c1: #f08c3c; --c2: #2fc598; --c3: #d998bf; --c4: #f0e442; --c5: #8fd0ff; --c6: #cccccc;
  --compute: #3f9bd4; --exposed: #e8742a; --waiting: #f0b93a; --host: #b98a5a; --other: #7b858e;
  --bad: #ff9d8a; --bad-soft: #46201a; --warn: #f5c869; --warn-soft: #40310f; --good: #6fd8b0; --good-soft: #12392d; } }
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1.5rem 3rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .6rem; padding-bottom: .2rem; border-bottom: 2px solid var(--rule); }
h3 { font-size: 1.08rem; margin: 1.8rem 0 .5rem; }
a { color: var(--link); }
.about { color: var(--quiet); margin: .35rem 0 0; overflow-wrap: anywhere; }
.answer { background: var(--soft); border-left: 4px solid var(--c0); margin: 1.2rem 0; padding: .8rem 1.1rem; }
.answer h2 { border: 0; margin: 0 0 .3rem; padding: 0; font-size: 1.15rem; }
.answer dl { margin: 0; display: grid; grid-template-columns: minmax(4rem, max-content) 1fr; gap: .4rem 1rem; }
.answer dt { font-weight: 600; overflow-wrap: anywhere; }
.answer dd { margin: 0; max-width: 56rem; overflow-wrap: anywhere; }
nav { columns: 16rem; column-gap: 2rem; font-size: .93rem; margin: 1.2rem 0; }
nav ul { list-style: none; margin: 0; padding: 0 0 0 1rem; }
nav .whole, nav .group { padding: 0; }
nav .group li { break-inside: avoid; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .65rem; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
thead th { vertical-align: bottom; border-bottom: 2px solid var(--quiet); font-weight: 600; }
thead .unit { color: var(--quiet); font-weight: 400; white-space: nowrap; }
tbody tr:hover { background: var(--soft); }
td.n, th.n { text-align: right; }
td.n { white-space: nowrap; }
td.p { min-width: 19rem; max-width: 44rem; overflow-wrap: anywhere; }
td.k { font-weight: 500; }
.record { columns: 27rem; column-gap: 2.5rem; margin: .5rem 0; font-size: .9rem; }
.record div { display: grid; grid-template-columns: 12rem 1fr; gap: .8rem; padding: .2rem 0;
  border-bottom: 1px solid var(--rule); break-inside: avoid; }
.record dt { color: var(--quiet); }
.record dd { margin: 0; overflow-wrap: anywhere; }
.note, .empty, figcaption p { color: var(--quiet); font-size: .88rem; max-width: 60rem; margin: .5rem 0; }
.badge { border-radius: .25rem; padding: .05rem .4rem; font-weight: 600; white-space: nowrap;
  background: var(--soft); color: var(--quiet); }
.bad { background: var(--bad-soft); color: var(--bad); }
.warn { background: var(--warn-soft); color: var(--warn); }
.good { background: var(--good-soft); color: var(--good); }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--link); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1.4rem;
  margin: .8rem 0 1.4rem; }
figure { margin: 0; max-width: 46rem; break-inside: avoid; }
figure b { font-size: .95rem; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; margin: .2rem 0; padding: 0;
  font-size: .84rem; }
.legend li { display: flex; align-items: center; gap: .4rem; }
svg { display: block; width: 100%; height: auto; }
svg.key { width: 28px; height: 14px; flex: none; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
svg .axis { fill: var(--quiet); }
svg .small { font-size: 10px; }
svg .name { fill: var(--s); font-weight: 600; stroke: var(--paper); stroke-width: 3px; paint-order: stroke; }
.grid { stroke: var(--rule); stroke-width: 1; }
.line { fill: none; stroke: var(--s); stroke-width: 2; }
.dashed { stroke-dasharray: 6 4; }
.marker { stroke-width: 1.3; stroke-dasharray: 2 3; }
.band { fill: var(--s); opacity: .16; }
.dot { fill: var(--s); stroke: var(--paper); stroke-width: 1; }
.open { fill: var(--paper); stroke: var(--s); stroke-width: 2; }
.c0 { --s: var(--c0); } .c1 { --s: var(--c1); } .c2 { --s: var(--c2); } .c3 { --s: var(--c3); }
.c4 { --s: var(--c4); } .c5 { --s: var(--c5); } .c6 { --s: var(--c6); }
.part-compute { fill: var(--compute); } .part-exposed { fill: var(--exposed); }
.part-waiting { fill: var(--waiting); } .part-host { fill: var(--host); } .part-other { fill: var(--other); }
rect { stroke: var(--paper); stroke-width: 1; }
.pale { opacity: .55; }
.blank { fill: var(--paper); stroke: none; }
@page { size: A4 landscape; margin: 12mm; }
@media print {
  :root { color-scheme: light; --paper: #ffffff; --ink: #000000; --quiet: #444444; --rule: #bbbbbb; --soft: #f3f5f7;
    --link: #000000; --c0: #0072b2; --c1: #c45100; --c2: #008a63; --c3: #a8588a; --c4: #8a6d00; --c5: #2b8cc4;
    --c6: #444444; --compute: #0072b2; --exposed: #d55e00; --waiting: #e69f00; --host: #7f4f24; --other: #9aa3ab;
    --bad: #a3230f;
    --bad-soft: #fbe6e1; --warn: #7a5200; --warn-soft: #fdf0d0; --good: #00664a; --good-soft: #ddf2ea; }
  html { font-size: 11px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { max-width: none; padding: 0; }
  .scroll { overflow: visible; }
  th, td { padding: .15rem .35rem; }
  td.p { min-width: 8rem; }
  h2, h3 { break-after: avoid; }
  tr { break-inside: avoid; }
  .figures { grid-template-columns: repeat(2, 1fr); }
}
)css";
}

}  // namespace ddpprof::report::html
