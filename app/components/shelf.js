// Where the mounts of one page leave things for each other: the script, and the parts of a map's data.
// Each is a message of its own, so that Streamlit sends it again only when its content changes.

const shelf = (globalThis.xcworkShelf ??= { held: new Map(), waiting: new Map() });

function putOnShelf(name, value) {
  shelf.held.set(name, value);
  shelf.waiting.get(name)?.forEach((answer) => answer(value));
  shelf.waiting.delete(name);
}

function takeFromShelf(name) {
  if (shelf.held.has(name)) return Promise.resolve(shelf.held.get(name));
  return new Promise((answer) => shelf.waiting.set(name, [...(shelf.waiting.get(name) || []), answer]));
}
