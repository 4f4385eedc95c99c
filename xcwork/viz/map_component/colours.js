// Colours: which theme the page around has, and the palette of a colour layer in that theme.

const UNKNOWN_CODE = 255;

function parseColour(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

// Return "dark" or "light" by the first ground behind the element that is not transparent.
function detectTheme(element) {
  for (let at = element; at; at = at.parentElement || at.getRootNode?.().host) {
    const [red, green, blue, alpha = 1] = (getComputedStyle(at).backgroundColor.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    if (alpha > 0.5) return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light";
  }
  return "light";
}

// Return RGBA entries: red, green, blue, and the size of the points (128 = as usual).
function makePalette(layer, themeName) {
  const entries = layer.ramp ? rampEntries(layer, themeName) : layer.entries;
  const palette = new Uint8Array(4 * Math.max(1, entries.length));
  entries.forEach((entry, at) => {
    palette.set(entry.rgb || parseColour(entry[themeName]), 4 * at);
    palette[4 * at + 3] = Math.min(255, Math.round(128 * entry.scale));
  });
  return palette;
}

function rampEntries(layer, themeName) {
  const stops = layer.ramp[themeName].map(parseColour);
  const entries = [];
  for (let code = 0; code < UNKNOWN_CODE; code++) {
    const place = (code / (UNKNOWN_CODE - 1)) * (stops.length - 1);
    const before = Math.min(Math.floor(place), stops.length - 2);
    const rgb = stops[before].map((value, at) => Math.round(value + (stops[before + 1][at] - value) * (place - before)));
    entries.push({ rgb, scale: 1 });
  }
  return [...entries, layer.unknown];
}

function describeColour(layer, code) {
  if (!layer.ramp) return `${layer.title}: ${layer.entries[code].name}`;
  if (code === UNKNOWN_CODE) return layer.unknown.name;
  const share = (100 * code) / (UNKNOWN_CODE - 1);
  if (!layer.is_signed) return `${layer.title}: ${Math.round(share)} %`;
  const difference = Math.round(2 * share - 100);
  return `${layer.title}: ${difference > 0 ? "+" : difference < 0 ? "−" : ""}${Math.abs(difference)} %`;
}
