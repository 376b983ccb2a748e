// Elements and texts. Nothing is ever parsed as HTML: every text becomes a text node.

const UNDEFINED = "–";
const SVG = "http://www.w3.org/2000/svg";

// Characters that show nothing or turn the direction of what follows: in a proof they can hide what Lean reads.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/gu;

function shown(text) {
  return text.replace(UNSEEN, (char) => `⟨U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === "text") {
      node.textContent = value;
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function plural(number, noun) {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}

function words(code) {
  return code.replaceAll("_", " ");
}

function percent(value, digits = 1) {
  return value === null ? UNDEFINED : `${(100 * value).toFixed(digits)} %`;
}

function seconds(value) {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
}

function letterTag(run, index) {
  return el("span", { class: `letter s${index % 6}`, title: run.title, text: run.letter });
}
