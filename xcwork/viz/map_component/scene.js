// One frame: what lies below the points, what lies above them, and which names find room.

const SEARCH_ROOM_PIXELS = 52;

function drawBack(map, isMoving) {
  const { camera, theme, layers } = map;
  const isUsed = (map.hasGrid && map.lines) || layers.length > 0;
  map.back.hidden = !isUsed; // an empty canvas costs as much per frame as a full one
  if (!isUsed) return;
  const context = clearCanvas(map.back, camera, map.ratio);
  const top = map.controls.searchBox?.parentElement === map.root ? SEARCH_ROOM_PIXELS : 6;
  if (map.hasGrid && map.lines) drawGrid(context, map, top);
  drawHulls(context, listHullsAt(map), camera, theme);
  for (const layer of map.edges.filter(({ name }) => layers.includes(name))) {
    drawEdges(context, layer, map, isMoving);
  }
}

function drawFront(map, style, isMoving) {
  const { camera, theme, labels } = map;
  const context = clearCanvas(map.front, camera, map.ratio);
  if (map.path) drawLasso(context, map.path, theme);
  else if (map.lasso) drawLasso(context, map.lasso.map(([x, y]) => [camera.toScreenX(x), camera.toScreenY(y)]), theme);
  if (map.region >= 0 && !map.path) drawOutline(context, map.outline, camera, theme);
  drawLinks(context, map.links, map);
  const linked = [...new Set(map.links.flat())];
  drawLit(context, map, [...map.selection, ...map.inLasso, ...map.highlight, ...linked], style);
  for (const [place, radius] of [[map.hovered, HOVER_RING_PIXELS], [map.label, RING_PIXELS]]) {
    if (place < 0) continue;
    drawRing(context, camera.toScreenX(labels.positions[2 * place]), camera.toScreenY(labels.positions[2 * place + 1]), theme, radius);
  }
  if (map.input.hasKeyboard && map.root.matches(":focus-visible")) drawCross(context, camera, theme);
  placeNames(context, map, linked, style, isMoving);
  const isMarked = map.path || map.lasso || map.label >= 0 || map.hovered >= 0 || map.input.hasKeyboard;
  const isUsed = isMarked || map.written.length + map.hullNames.length > 0;
  map.front.hidden = !isUsed && linked.length + map.selection.length + map.highlight.length === 0;
}

// The chosen label or region first, then lit labels, then hulls or regions, then the most important label of each cell.
function placeNames(context, map, linked, style, isMoving) {
  const { camera } = map;
  const taken = new TakenBoxes(camera.width, camera.height);
  taken.boxes.push(...map.controls.boxes);
  map.written = [];
  if (map.names && map.label >= 0) map.written.push(...writeNames(context, map, [map.label], taken, style, "always"));
  map.regionNames.placeChosen(camera, taken);
  if (map.names) {
    const lit = [...linked, ...map.highlight].filter((place) => place !== map.label).slice(0, MAX_NAMED_LIT);
    map.written.push(...writeNames(context, map, lit, taken, style, "bold"));
  }
  map.hullNames = writeHullNames(context, map, taken);
  map.regionNames.place(camera, taken, listHullsAt(map).length > 0); // one kind of names at a time
  if (!map.names) return;
  if (!isMoving) map.named = chooseNamedLabels(map.labels, map.grid, camera);
  const written = new Set(map.written.map(({ label }) => map.labels.placeOf(label)));
  const others = map.named.filter((place) => !written.has(place));
  map.written.push(...writeNames(context, map, others, taken, style, ""));
}
