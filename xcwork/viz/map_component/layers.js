// What is drawn below the points: a grid, hulls around labels, lines between them; and the names of hulls.

const MAX_MOVING_EDGES = 3000;
const MAX_RESTING_EDGES = 50000;
const LANDMARK_PIXELS = 3.2; // around the point of a label that lines come from
const GRID_CAPTION_PIXELS = 44; // at least between two captions of the grid
const MIN_HULL_PIXELS = 24; // of the width or height of a hull that has its name written

// Hulls of level k are drawn from zoom 2^(k - 1) on, so that two levels are nested from the start.
function listHullsAt(map) {
  const deepest = Math.floor(Math.log2(Math.max(1, map.camera.zoom)) + 1.25);
  return map.hulls.filter((hull) => hull.level <= deepest && map.layers.includes(hull.layer));
}

function drawHulls(context, hulls, camera, theme) {
  for (const hull of hulls) {
    context.beginPath();
    hull.points.forEach(([x, y], at) => context[at ? "lineTo" : "moveTo"](camera.toScreenX(x), camera.toScreenY(y)));
    context.closePath();
    context.fillStyle = context.strokeStyle = hull[theme.name];
    context.globalAlpha = 0.07;
    context.fill();
    context.globalAlpha = Math.max(0.4, 0.9 - 0.25 * hull.level);
    context.lineWidth = Math.max(0.8, 2 - 0.6 * hull.level);
    context.lineJoin = "round";
    context.stroke();
  }
  context.globalAlpha = 1;
}

// The name of a hull stands at its top, or wherever there is room down its middle; outer hulls come first.
function writeHullNames(context, map, taken) {
  const { camera, theme } = map;
  const deepest = Math.floor(Math.log2(Math.max(1, camera.zoom)) + 0.25);
  const written = [];
  context.font = map.fonts.bold;
  context.textBaseline = "top";
  context.lineJoin = "round";
  for (const hull of listHullsAt(map).filter(({ name, level }) => name && level <= deepest)) {
    const xs = hull.points.map(([x]) => camera.toScreenX(x));
    const ys = hull.points.map(([, y]) => camera.toScreenY(y));
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    if (Math.max(right - left, bottom - top) < MIN_HULL_PIXELS) continue;
    const width = context.measureText(hull.name).width;
    const from = Math.min(camera.width - 3 - width, Math.max(3, (left + right - width) / 2));
    const rows = [0, 0.25, 0.5, 0.75].map((share) => Math.max(3, top) + 3 + share * (bottom - top));
    const boxes = rows.map((row) => ({ left: from, right: from + width, top: row, bottom: row + NAME_LINE_PIXELS }));
    const box = boxes.find((each) => taken.tryToTake(each));
    if (!box) continue;
    context.strokeStyle = theme.background;
    context.fillStyle = theme.text;
    context.lineWidth = 4;
    context.strokeText(hull.name, box.left, box.top);
    context.fillText(hull.name, box.left, box.top);
    written.push({ name: hull.name, ...box });
  }
  return written;
}

function drawGrid(context, map, top) {
  const { camera, theme, lines: grid } = map;
  context.strokeStyle = theme.line;
  context.fillStyle = theme.muted;
  context.font = map.fonts.plain;
  context.lineWidth = 1;
  context.beginPath();
  for (const { at } of grid.columns) {
    context.moveTo(camera.toScreenX(at), 0);
    context.lineTo(camera.toScreenX(at), camera.height);
  }
  for (const { at } of grid.rows) {
    context.moveTo(0, camera.toScreenY(at));
    context.lineTo(camera.width, camera.toScreenY(at));
  }
  context.stroke();
  context.textBaseline = "top";
  let free = -Infinity; // from where on the next caption does not touch the last one
  for (const { at, name } of grid.columns) {
    const x = camera.toScreenX(at) + 4;
    if (x < free) continue;
    context.fillText(name, x, top);
    free = x + Math.max(GRID_CAPTION_PIXELS, context.measureText(name).width + NAME_GAP_PIXELS);
  }
  free = -Infinity;
  for (const { at, name } of grid.rows) {
    const y = camera.toScreenY(at) + 3;
    if (y < Math.max(free, top + NAME_LINE_PIXELS)) continue;
    context.fillText(name, 6, y);
    free = y + NAME_LINE_PIXELS;
  }
}

// Edges are pairs of places; pairs that lie wholly on one side of what is seen are left out. Where a label is chosen,
// its own edges stand out from the others.
function drawEdges(context, layer, map, isMoving) {
  const { labels, camera, theme } = map;
  const most = isMoving ? MAX_MOVING_EDGES : MAX_RESTING_EDGES;
  const step = Math.max(1, Math.ceil(layer.pairs.length / 2 / most));
  const usual = Math.max(0.08, Math.min(0.6, 14 / Math.sqrt(layer.pairs.length / 2)));
  context.strokeStyle = theme.edge;
  context.lineWidth = 1;
  context.globalAlpha = map.label < 0 ? usual : usual / 2;
  traceEdges(context, layer.pairs, labels.positions, camera, step, () => true);
  context.globalAlpha = 1;
  if (map.label >= 0) {
    context.strokeStyle = theme.primary;
    context.lineWidth = 1.8;
    traceEdges(context, layer.pairs, labels.positions, camera, 1, (from, to) => from === map.label || to === map.label);
  }
  context.fillStyle = theme.edge;
  for (const place of (layer.sources ??= [...new Set(layer.pairs.filter((_, at) => at % 2 === 0))])) {
    const [x, y] = [camera.toScreenX(labels.positions[2 * place]), camera.toScreenY(labels.positions[2 * place + 1])];
    if (x < 0 || y < 0 || x > camera.width || y > camera.height) continue;
    context.beginPath();
    context.arc(x, y, LANDMARK_PIXELS + choosePointStyle(labels.count, camera).radius, 0, 2 * Math.PI);
    context.fill();
  }
}

function traceEdges(context, pairs, positions, camera, step, isWanted) {
  const [left, bottom, right, top] = camera.seen;
  context.beginPath();
  for (let at = 0; at < pairs.length; at += 2 * step) {
    if (!isWanted(pairs[at], pairs[at + 1])) continue;
    const from = 2 * pairs[at];
    const to = 2 * pairs[at + 1];
    const [x, y, toX, toY] = [positions[from], positions[from + 1], positions[to], positions[to + 1]];
    if (Math.max(x, toX) < left || Math.min(x, toX) > right || Math.max(y, toY) < bottom || Math.min(y, toY) > top) continue;
    context.moveTo(camera.toScreenX(x), camera.toScreenY(y));
    context.lineTo(camera.toScreenX(toX), camera.toScreenY(toY));
  }
  context.stroke();
}
