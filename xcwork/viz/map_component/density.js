// Density shading: how many labels lie in each cell of a fine raster, and the mean of their colours.

const DENSITY_CELLS = 320;
const DENSITY_BLUR_PASSES = 2;

// How large and how opaque points are: they cover a share of the map whatever their number, and grow with the zoom.
function choosePointStyle(count, camera) {
  const spread = Math.sqrt(camera.mapArea / Math.max(1, count)); // pixels between neighbours, were they spread evenly
  const largest = 2.7 + 0.8 * Math.log2(Math.max(1, camera.zoom));
  const radius = Math.max(0.85, Math.min(0.29 * spread, largest, 6));
  const layers = (count * Math.PI * radius * radius) / (camera.mapArea * 0.35);
  const alpha = Math.max(0.2, Math.min(0.94, 1.5 / layers));
  return { radius, alpha, density: Math.max(0, Math.min(1, (layers - 0.9) / 4)) };
}

function radiusOf(share, scale, style) {
  return style.radius * (0.78 + 1.1 * (share / 255)) * scale;
}

// Return RGBA pixels (premultiplied, first row = bottom) of the shading over the bounds of the map.
function shadeDensity(labels, codes, palette) {
  const cells = DENSITY_CELLS;
  const [left, bottom, right, top] = labels.bounds;
  const across = (cells * 0.999) / (right - left || 1);
  const up = (cells * 0.999) / (top - bottom || 1);
  let sums = [0, 1, 2, 3].map(() => new Float32Array(cells * cells)); // count, red, green, blue
  const [counts, reds, greens, blues] = sums;
  for (let at = 0; at < labels.count; at++) {
    const column = ((labels.positions[2 * at] - left) * across) | 0;
    const cell = (((labels.positions[2 * at + 1] - bottom) * up) | 0) * cells + column;
    const colour = 4 * codes[at];
    counts[cell]++;
    reds[cell] += palette[colour];
    greens[cell] += palette[colour + 1];
    blues[cell] += palette[colour + 2];
  }
  for (let pass = 0; pass < DENSITY_BLUR_PASSES; pass++) sums = sums.map((field) => blur(field, cells));
  return mixColours(sums, cells);
}

function mixColours([counts, reds, greens, blues], cells) {
  const pixels = new Uint8Array(4 * cells * cells);
  const usual = counts.reduce((largest, count) => Math.max(largest, count), 0) * 0.6 || 1;
  for (let cell = 0; cell < cells * cells; cell++) {
    if (counts[cell] < 0.02) continue;
    const alpha = Math.min(1, Math.log1p((counts[cell] / usual) * 20) / Math.log1p(20));
    pixels[4 * cell] = (reds[cell] / counts[cell]) * alpha;
    pixels[4 * cell + 1] = (greens[cell] / counts[cell]) * alpha;
    pixels[4 * cell + 2] = (blues[cell] / counts[cell]) * alpha;
    pixels[4 * cell + 3] = 255 * alpha;
  }
  return pixels;
}

function blur(field, cells) {
  const across = new Float32Array(cells * cells);
  const result = new Float32Array(cells * cells);
  for (let row = 0; row < cells; row++) {
    for (let column = 0; column < cells; column++) {
      const at = row * cells + column;
      const before = column ? field[at - 1] : 0;
      const after = column < cells - 1 ? field[at + 1] : 0;
      across[at] = (before + 2 * field[at] + after) / 4;
    }
  }
  for (let at = 0; at < cells * cells; at++) {
    const below = at >= cells ? across[at - cells] : 0;
    const above = at < cells * (cells - 1) ? across[at + cells] : 0;
    result[at] = (below + 2 * across[at] + above) / 4;
  }
  return result;
}
