// Receives one part of a map's data; it is dropped when another takes its place and when the page is left.

export default function ({ data, parentElement }) {
  const length = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
  const { id } = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  if (parentElement.xcworkPart !== id) shelf.held.delete(parentElement.xcworkPart);
  parentElement.xcworkPart = id;
  putOnShelf(id, data);
  return () => shelf.held.delete(id);
}
