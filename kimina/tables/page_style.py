"""The style sheet of the report page: system fonts only, light and dark, from a phone to a wide screen."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --raised: #f6f7f8; --ink: #1b1f24; --muted: #5d6770; --rule: #e3e6e9;
  --before: #7b858d; --after: #0b5fa5; --good: #1d7350; --bad: #b3381c; --good-tint: #e6f3ed; --bad-tint: #fbebe6;
  --sans: "Source Sans 3", "Segoe UI", system-ui, -apple-system, Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
  --mono: "JuliaMono", "Cascadia Mono", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #181c20; --raised: #20252a; --ink: #e6e9ec; --muted: #a3adb6; --rule: #31383e;
    --before: #9aa4ad; --after: #6db7f2; --good: #6fcbac; --bad: #f0936a; --good-tint: #1d322b; --bad-tint: #38251e;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 var(--sans); }
main { max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.25rem 5rem; }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; }
h1 { font-size: clamp(1.6rem, 1.2rem + 1.8vw, 2.3rem); margin: 0 0 .4rem; letter-spacing: -.015em; font-weight: 650; }
h2 { font-size: 1.3rem; margin: 3.5rem 0 .6rem; padding-top: 1.1rem; border-top: 1px solid var(--rule); font-weight: 650; }
h3 { font-size: 1.02rem; margin: 0; font-weight: 650; }
p { max-width: 44rem; margin: .6rem 0; text-wrap: pretty; }
a { color: var(--after); }
.muted, figcaption { color: var(--muted); }
.run { margin: 0; color: var(--muted); }
.command { display: block; margin: 1.1rem 0 0; padding: .7rem .9rem; background: var(--raised); border-radius: 6px;
  font: .86rem/1.5 var(--mono); overflow-x: auto; white-space: pre; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 1.1rem 0 0; font-size: .92rem; }
.facts div { min-width: 7rem; }
.facts dt { color: var(--muted); font-size: .82rem; }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.headline { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem 1.1rem; margin: 2.2rem 0 .3rem;
  font-variant-numeric: tabular-nums; }
.headline .figure { font-size: clamp(2.3rem, 1.5rem + 4vw, 3.7rem); line-height: 1; font-weight: 650; letter-spacing: -.03em; }
.headline .unit { font-size: .5em; font-weight: 500; letter-spacing: 0; margin-left: .1em; }
.headline .before { color: var(--before); }
.headline .after { color: var(--after); }
.headline .arrow { color: var(--muted); font-size: 1.8rem; }
.findings { max-width: 46rem; margin: .9rem 0 0; padding-left: 1.1rem; }
.findings li { margin: .35rem 0; }
.scroll { overflow-x: auto; margin: 1rem 0 .6rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .93rem; }
.note { color: var(--muted); font-size: .87rem; margin: .2rem 0 .8rem; }
th, td { padding: .42rem .8rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
th:first-child { text-align: left; padding-left: 0; position: sticky; left: 0; background: var(--paper); }
thead th { color: var(--muted); font-weight: 500; font-size: .85rem; vertical-align: bottom; }
tbody th { font-weight: 600; }
tbody tr.first td, tbody tr.first th { border-top: 2px solid var(--muted); }
td small { display: block; color: var(--muted); font-size: .8rem; font-weight: 400; }
.higher { color: var(--good); font-weight: 600; }
.lower { color: var(--bad); font-weight: 600; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 2.2rem 2.5rem;
  margin-top: 1.4rem; align-items: start; }
figure { margin: 0; }
figure img { display: block; width: 100%; height: auto; margin: .5rem 0 .4rem; }
figcaption { font-size: .87rem; line-height: 1.45; }
.example { margin: 2.2rem 0 0; }
.example > p { margin: .2rem 0 .5rem; font-size: .92rem; }
.tag { display: inline-block; padding: .05rem .5rem; border-radius: 4px; font-size: .8rem; font-weight: 600;
  background: var(--raised); color: var(--muted); }
.tag.solved { background: var(--good-tint); color: var(--good); }
.tag.failed { background: var(--bad-tint); color: var(--bad); }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem; margin-top: .8rem; }
.side { min-width: 0; border: 1px solid var(--rule); border-radius: 6px; padding: .8rem .9rem; }
.side h4 { margin: 0 0 .5rem; font-size: .9rem; display: flex; flex-wrap: wrap; gap: .3rem .6rem; align-items: center; }
pre { margin: .5rem 0 0; font: .8rem/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 2; }
pre.lean { background: var(--raised); border-radius: 6px; padding: .7rem .9rem; }
pre.message { border-left: 3px solid var(--bad); padding-left: .7rem; color: var(--muted); }
.side pre.response { max-height: 26rem; overflow-y: auto; }
.think { color: var(--muted); }
details { margin-top: .6rem; }
summary { cursor: pointer; color: var(--after); font-size: .87rem; }
.method { max-width: 46rem; }
.method dt { font-weight: 600; margin-top: .9rem; }
.method dd { margin: .15rem 0 0; }
code { font: .88em var(--mono); }
footer { margin-top: 4rem; color: var(--muted); font-size: .85rem; }
@media (max-width: 34rem) {
  main { padding: 1.5rem 1rem 3rem; }
  th, td { padding: .4rem .45rem; }
  .roomy { display: none; }
  .habits th { white-space: normal; }
}
@media print { .scroll, .side pre.response { overflow: visible; max-height: none; } }
""".strip()


def document_head(title: str, policy: str, style: str) -> list[str]:
    """The lines of a page down to the end of its head; ``title`` is HTML, ``policy`` the content security policy."""
    return [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="generator" content="kimina-lab">',
        f"<title>{title}</title>",
        f"<style>{style}</style>",
        "</head>",
    ]
