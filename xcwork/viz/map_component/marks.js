// What is drawn above the points: outlined labels, links, rings, names, the lasso.

const MAX_NAMED_LIT = 24;
const MAX_THICK_OUTLINES = 150;
const RING_PIXELS = 11;
const HOVER_RING_PIXELS = 7;
const OUTLINE_PIXELS = 16;

function clearCanvas(canvas, camera, ratio) {
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, camera.width, camera.height);
  return context;
}

function drawLasso(context, points, theme) {
  if (points.length < 2) return;
  context.beginPath();
  points.forEach(([x, y], at) => context[at ? "lineTo" : "moveTo"](x, y));
  fillDashed(context, theme);
}

function fillDashed(context, theme) {
  context.closePath();
  context.fillStyle = theme.primary;
  context.globalAlpha = 0.09;
  context.fill();
  context.globalAlpha = 1;
  context.setLineDash([5, 3]);
  context.lineWidth = 1.6;
  context.strokeStyle = theme.primary;
  context.stroke();
  context.setLineDash([]);
}

// The convex hull of some labels, counterclockwise, in places on the map.
function findHull(places, positions) {
  const points = places.map((place) => [positions[2 * place], positions[2 * place + 1]]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const chain = (side) => {
    const kept = [];
    for (const point of side) {
      while (kept.length > 1 && turn(kept.at(-2), kept.at(-1), point) <= 0) kept.pop();
      kept.push(point);
    }
    return kept.slice(0, -1);
  };
  return points.length < 3 ? points : [...chain(points), ...chain(points.reverse())];
}

// A soft line around the labels of the chosen region, a few pixels away from them.
function drawOutline(context, hull, camera, theme) {
  if (hull.length < 3) return;
  const corners = hull.map(([x, y]) => [camera.toScreenX(x), camera.toScreenY(y)]);
  const middle = [0, 1].map((axis) => corners.reduce((sum, corner) => sum + corner[axis], 0) / corners.length);
  const away = corners.map(([x, y]) => {
    const [across, down] = [x - middle[0], y - middle[1]];
    const stretch = 1 + OUTLINE_PIXELS / Math.max(1, Math.hypot(across, down));
    return [middle[0] + stretch * across, middle[1] + stretch * down];
  });
  const between = (at) => [0, 1].map((axis) => (away[at][axis] + away[(at + 1) % away.length][axis]) / 2);
  context.beginPath();
  context.moveTo(...between(away.length - 1));
  away.forEach((corner, at) => context.quadraticCurveTo(...corner, ...between(at)));
  fillDashed(context, theme);
}

// Labels that are chosen or lit up: larger, in their colour, with a dark line around them.
function drawLit(context, map, places, style) {
  const { labels, camera, theme } = map;
  const isCrowded = places.length > MAX_THICK_OUTLINES;
  context.lineWidth = isCrowded ? 0.8 : 1.5;
  context.strokeStyle = theme.text;
  for (const place of places) {
    const x = camera.toScreenX(labels.positions[2 * place]);
    const y = camera.toScreenY(labels.positions[2 * place + 1]);
    if (x < -9 || y < -9 || x > camera.width + 9 || y > camera.height + 9) continue;
    context.beginPath();
    context.arc(x, y, Math.max(isCrowded ? 1.8 : 3.6, radiusOf(labels.shares[place], 1, style) + (isCrowded ? 0 : 1.2)), 0, 2 * Math.PI);
    context.fillStyle = map.colourOf(place);
    context.fill();
    context.stroke();
  }
}

function drawLinks(context, pairs, { labels, camera, theme }) {
  const place = (at) => [camera.toScreenX(labels.positions[2 * at]), camera.toScreenY(labels.positions[2 * at + 1])];
  context.strokeStyle = theme.primary;
  context.lineWidth = 1.4;
  context.globalAlpha = 0.8;
  context.beginPath();
  for (const [from, to] of pairs) {
    context.moveTo(...place(from));
    context.lineTo(...place(to));
  }
  context.stroke();
  context.globalAlpha = 1;
}

function drawRing(context, x, y, theme, radius = RING_PIXELS) {
  for (const [colour, width] of [[theme.background, 5], [theme.primary, 2.6]]) {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke();
  }
}

function drawCross(context, camera, theme) {
  const [x, y] = [camera.width / 2, camera.height / 2];
  context.strokeStyle = theme.primary;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [across, down] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
    context.moveTo(x + 5 * across, y + 5 * down);
    context.lineTo(x + 13 * across, y + 13 * down);
  }
  context.stroke();
}

// Write names beside their points where there is room; `isFirm` names are written even if none is left.
function writeNames(context, map, places, taken, style, isFirm) {
  const { labels, camera, theme, names } = map;
  const written = [];
  context.font = isFirm ? map.fonts.bold : map.fonts.plain;
  context.textBaseline = "top";
  context.lineJoin = "round";
  const measure = (text) => context.measureText(text).width;
  for (const place of places) {
    const x = camera.toScreenX(labels.positions[2 * place]);
    const y = camera.toScreenY(labels.positions[2 * place + 1]);
    if (x < 0 || y < 0 || x > camera.width || y > camera.height) continue;
    const lines = wrapName(names.get(place), measure);
    const width = Math.max(...lines.map(measure));
    const radius = isFirm ? RING_PIXELS : radiusOf(labels.shares[place], 1, style);
    const boxes = placesBeside(x, y, radius, width, lines.length * NAME_LINE_PIXELS);
    const box = boxes.find((each) => taken.tryToTake(each)) || (isFirm === "always" && boxes.find((each) => !taken.isOutside(each)));
    if (!box) continue;
    context.strokeStyle = theme.background;
    context.fillStyle = isFirm ? theme.text : theme.muted;
    context.lineWidth = 4;
    lines.forEach((line, at) => {
      context.strokeText(line, box.left, box.top + at * NAME_LINE_PIXELS);
      context.fillText(line, box.left, box.top + at * NAME_LINE_PIXELS);
    });
    written.push({ label: labels.idOf(place), name: names.get(place), ...box });
  }
  return written;
}
