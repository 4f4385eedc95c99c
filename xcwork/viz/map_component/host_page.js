// The map in a page of its own: a notebook's output or an exported file, with all data in the page.

async function showInPage(element, content) {
  const map = new LabelMap(element, (event) => element.dispatchEvent(new CustomEvent("xc-map", { detail: event, bubbles: true })));
  const read = async (text) => readPart(await bytesFromBase64(text));
  map.setPoints(await read(content.points));
  map.update(content.state);
  const layers = await Promise.all(content.colours.map(read));
  map.setLayers(await read(content.layers));
  map.offerLayers(layers, content.state.colour);
  map.setNames(await read(content.names));
  return map;
}
