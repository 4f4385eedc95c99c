// The state that the page sends with every run: only what changed since the last one is applied, so that what the person
// did meanwhile stays.

function applyState(map, state) {
  const { labels } = map;
  const change = {
    tool: (tool) => map.setTool(tool),
    highlight: (ids) => (map.highlight = labels.placesOf(ids)),
    selection: (ids) => map.showSelection(labels.placesOf(ids)),
    lasso: (polygon) => map.showLasso(polygon),
    links: (pairs) => (map.links = pairs.map((pair) => labels.placesOf(pair)).filter((pair) => pair.length === 2)),
    layers: (names) => (map.layers = names),
    show_grid: (isShown) => (map.hasGrid = isShown),
    picture: () => map.received.picture !== undefined && savePicture(map),
    region: (at) => (map.region = at ?? -1),
    label: (id) => showLabel(map, id === null ? -1 : labels.placeOf(id)),
  };
  for (const [field, apply] of Object.entries(change)) {
    const written = JSON.stringify(state[field]);
    if (map.received[field] === written) continue;
    apply(state[field]);
    map.received[field] = written;
  }
}

// A label that was clicked is already ringed; one that the page chose is flown to.
function showLabel(map, place) {
  if (place >= 0 && place !== map.label) map.flyToPlace(place);
  map.label = place;
}
