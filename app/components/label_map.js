// Shows the map: the script and the parts come from the mounts beside it, the state with every run of the page.

export default function ({ data, parentElement, setTriggerValue }) {
  const place = (parentElement.xcworkMap ??= { turn: 0, shown: {} });
  place.emit = (event) => setTriggerValue("event", event);
  parentElement.style.minHeight = data.state.height;
  show(parentElement, place, data, ++place.turn);
  return () => {
    place.turn = Infinity;
    place.map?.dispose();
  };
}

// Runs follow each other while parts are still on their way: only the last one is shown.
async function show(parentElement, place, data, turn) {
  const { LabelMap, readPart } = await takeFromShelf("label map");
  if (place.turn !== turn) return;
  place.map ??= new LabelMap(parentElement, (event) => place.emit(event));
  const { map } = place;
  map.root.style.height = data.state.height;
  const steps = {
    points: (part) => map.setPoints(part),
    colours: (part) => map.setColours(part),
    layers: (part) => map.setLayers(part),
    names: (part) => map.setNames(part),
  };
  for (const [kind, apply] of Object.entries(steps)) {
    const id = data.parts[kind];
    if (place.shown[kind] !== id) {
      const part = id && (await readPart(await takeFromShelf(id)));
      if (place.turn !== turn) return;
      if (kind === "points") place.shown = {}; // other labels need their own colours and names
      place.shown[kind] = id;
      apply(part);
    }
    if (kind === "points") map.update(data.state);
  }
}
