// The packed blocks. The last few are kept unpacked, so that going back and forth between problems is quick.

const MOST_KEPT = 24;
const kept = new Map();

async function unpack(name) {
  const content = document.getElementById(name).textContent;
  const bytes = Uint8Array.from(atob(content), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function samplesOf(name) {
  const found = kept.get(name) ?? unpack(name);
  kept.delete(name);
  kept.set(name, found);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  return found;
}
