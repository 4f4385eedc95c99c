// Brings the script of the map to the page.

export default function () {
  if (!shelf.held.has("label map")) putOnShelf("label map", XCWORK_MAP);
}
