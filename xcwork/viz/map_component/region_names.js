// Names of regions: buttons above the map that never overlap. The pointer goes through them to the map, which knows
// where they are, so that a drag may begin on a name; the Tab key reaches them like any button.

class RegionNames {
  constructor(map, root) {
    this.map = map;
    this.layer = makeElement(root, "div", "xc-map-regions");
    this.buttons = new Map();
    this.widths = new Map();
    this.boxes = []; // of the names that are shown
    this.chosen = null; // the box of the chosen region
    this.pen = document.createElement("canvas").getContext("2d");
  }

  setRegions(regions) {
    this.regions = regions;
    this.level = -1;
    this.layer.replaceChildren();
    this.buttons.clear();
  }

  widthOf(text) {
    if (!this.widths.has(text)) {
      this.pen.font = this.map.fonts.bold;
      this.widths.set(text, Math.ceil(this.pen.measureText(text).width) + 4);
    }
    return this.widths.get(text);
  }

  place(camera, taken, isHidden) {
    const level = Math.floor(Math.log2(Math.max(camera.zoom, 1)) + 0.25);
    if (level !== this.level) {
      this.level = level;
      this.candidates = listRegionsAt(this.regions, camera.zoom);
    }
    this.boxes = this.chosen ? [this.chosen] : [];
    for (const region of isHidden ? [] : this.candidates) {
      if (region.at === this.chosen?.at) continue;
      const box = this.findRoom(camera, taken, region);
      if (box) this.boxes.push({ ...box, at: region.at, name: describeRegion(region) });
    }
    this.showButtons(camera);
  }

  // The name of the chosen region stands on the map at every zoom, above its labels, before others take the room.
  placeChosen(camera, taken) {
    const { region: at, outline } = this.map;
    this.chosen = null;
    if (at < 0 || !this.regions[at]) return;
    const region = this.regions[at];
    const top = outline.length > 2 ? Math.max(...outline.map(([, y]) => y)) : region.y;
    const above = outline.length > 2 ? OUTLINE_PIXELS + 12 : 0;
    const box = this.findRoom(camera, taken, { ...region, y: top }, [-above, -above - 16, 0, 16]);
    if (box) this.chosen = { ...box, at, name: describeRegion(region) };
  }

  findRoom(camera, taken, region, steps = [0, -16, 16, -32]) {
    const half = this.widthOf(describeRegion(region)) / 2;
    const x = camera.toScreenX(region.x);
    const y = camera.toScreenY(region.y);
    if (x < 0 || y < 0 || x > camera.width || y > camera.height) return null;
    const edge = Math.max(half + 3, Math.min(camera.width - half - 3, x)); // a name near the edge is moved inside
    const boxes = steps.map((down) => ({ left: edge - half, right: edge + half, top: y + down - 9, bottom: y + down + 9 }));
    return boxes.find((each) => taken.tryToTake(each));
  }

  showButtons() {
    const shown = new Set(this.boxes.map((box) => box.at));
    for (const [at, button] of this.buttons) {
      if (shown.has(at)) continue;
      button.remove();
      this.buttons.delete(at);
    }
    for (const box of this.boxes) {
      const button = this.buttons.get(box.at) || this.makeButton(box.at, box.name);
      button.style.transform = `translate(${box.left.toFixed(1)}px, ${box.top.toFixed(1)}px)`;
      button.style.width = `${box.right - box.left}px`;
      button.setAttribute("aria-pressed", String(this.map.region === box.at));
    }
  }

  makeButton(at, name) {
    const region = this.regions[at];
    const button = makeElement(this.layer, "button", "xc-map-region", name, { type: "button" });
    button.classList.toggle("xc-map-weak", region.is_weak);
    button.title = `${region.n_labels.toLocaleString("en")} labels`;
    button.addEventListener("click", () => this.map.chooseRegion(at));
    this.buttons.set(at, button);
    return button;
  }

  // The region whose name is at the pixel, or -1.
  find(x, y) {
    const box = this.boxes.find((each) => x >= each.left && x <= each.right && y >= each.top && y <= each.bottom);
    return box ? box.at : -1;
  }
}

function describeRegion(region) {
  const share = region.is_weak && region.found_share !== null ? ` ${Math.round(100 * region.found_share)} %` : "";
  return region.name + share;
}
