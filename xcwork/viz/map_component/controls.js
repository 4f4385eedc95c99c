// What stands on the map besides the drawing: tools, search, legend, the card at the pointer, notes, spoken text.
// Text from outside is only ever set with textContent.

const TOOLS = [
  ["move", "Move the map (drag)", "M8 1v14M1 8h14M8 1 6 3M8 1l2 2M8 15l-2-2M8 15l2-2M1 8l2-2M1 8l2 2M15 8l-2-2M15 8l-2 2"],
  ["lasso", "Lasso: draw around labels", "M8 3c4 0 6.500 1.700 6.500 4S12 11 8 11 1.500 9.300 1.500 7 4 3 8 3M4.500 10.500c-1 1 .3 2 0 3"],
  ["box", "Box: drag a rectangle around labels", "M2 4V2h2M7 2h2M12 2h2v2M14 7v2M14 12v2h-2M9 14H7M4 14H2v-2M2 9V7"],
];
const ACTIONS = [
  ["nearer", "Zoom in (+)", "M8 3v10M3 8h10"],
  ["farther", "Zoom out (−)", "M3 8h10"],
  ["all", "Show the whole map (0)", "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4"],
  ["picture", "Save a picture of what is seen (PNG)", "M8 2v8M4.500 7 8 10.500 11.500 7M2.500 13.500h11"],
];
const LENS = "M11.500 7A4.500 4.500 0 1 1 2.500 7 4.500 4.500 0 1 1 11.500 7M10.300 10.300 14 14";
const MAX_LEGEND_ENTRIES = 8;
const MAX_SUGGESTIONS = 8;

function makeElement(parent, tag, className, text, attributes = {}) {
  const element = document.createElement(tag);
  element.className = className;
  if (text) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

function makeIconButton(parent, [name, title, path], act) {
  const button = makeElement(parent, "button", "xc-map-tool", "", { type: "button", title, "aria-label": title, "data-tool": name });
  button.append(makeIcon(path));
  button.addEventListener("click", act);
  return button;
}

function makeIcon(path) {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("viewBox", "0 0 16 16");
  drawing.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  drawing.append(line);
  return drawing;
}

class Controls {
  constructor(map, root) {
    this.map = map;
    this.root = root;
    this.card = makeElement(root, "div", "xc-map-card", "", { "aria-hidden": "true" });
    this.legend = makeElement(root, "div", "xc-map-legend", "", { role: "group", "aria-label": "Legend" });
    this.note = makeElement(root, "div", "xc-map-note", "", { role: "note" });
    this.spoken = makeElement(root, "div", "xc-map-spoken", "", { "aria-live": "polite" });
    this.tools = makeElement(root, "div", "xc-map-tools", "", { role: "toolbar", "aria-label": "Map" });
    for (const tool of TOOLS) makeIconButton(this.tools, tool, () => map.setTool(tool[0]));
    const acts = { nearer: () => map.zoomBy(1.6), farther: () => map.zoomBy(1 / 1.6), all: () => map.showAll(), picture: () => savePicture(map) };
    for (const action of ACTIONS) makeIconButton(this.tools, action, acts[action[0]]);
  }

  showTool(tool) {
    for (const button of this.tools.querySelectorAll("button")) {
      if (TOOLS.some(([name]) => name === button.dataset.tool)) {
        button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
      }
    }
  }

  say(text) {
    if (this.spoken.textContent !== text) this.spoken.textContent = text;
  }

  showNote(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
  }

  showLegend(layer, theme, choices) {
    this.legend.replaceChildren();
    this.legend.hidden = !layer;
    if (!layer) return;
    if (choices.length > 1) this.addChoice(layer, choices);
    else makeElement(this.legend, "b", "", layer.title);
    if (layer.ramp) this.addRamp(layer, theme);
    const entries = layer.ramp ? layer.has_unknown ? [layer.unknown] : [] : layer.entries;
    const most = entries.length === MAX_LEGEND_ENTRIES + 1 ? entries.length : MAX_LEGEND_ENTRIES; // "1 more" saves no room
    for (const entry of entries.slice(0, most)) {
      const item = makeElement(this.legend, "span", "xc-map-entry");
      const dot = makeElement(item, "i", "xc-map-dot");
      dot.style.background = entry[theme.name];
      makeElement(item, "span", "", entry.name);
    }
    const rest = entries.length - most;
    if (rest > 0) makeElement(this.legend, "span", "xc-map-entry", `and ${rest.toLocaleString("en")} more`);
  }

  addChoice(layer, choices) {
    const select = makeElement(this.legend, "select", "", "", { "aria-label": "Colour" });
    choices.forEach((part, at) => makeElement(select, "option", "", part.layer.title, { value: at }));
    select.value = choices.findIndex((part) => part.layer === layer);
    select.addEventListener("change", () => this.map.setColours(choices[select.value]));
    select.addEventListener("keydown", (event) => event.stopPropagation());
  }

  addRamp(layer, theme) {
    const item = makeElement(this.legend, "span", "xc-map-entry");
    makeElement(item, "span", "", layer.low);
    const bar = makeElement(item, "i", "xc-map-ramp");
    bar.style.background = `linear-gradient(90deg, ${layer.ramp[theme.name].join(", ")})`;
    makeElement(item, "span", "", layer.high);
  }

  // The card beside the pointer: the full name, and what is known about the label.
  showCard(x, y, name, facts) {
    this.card.replaceChildren();
    const parts = name.match(/^(.*[.:/])([^.:/]+)$/s);
    if (parts) makeElement(this.card, "span", "xc-map-path", parts[1]);
    makeElement(this.card, "b", "", parts ? parts[2] : name);
    for (const fact of facts) makeElement(this.card, "span", "", fact);
    this.card.style.display = "block";
    const { width, height } = this.map.camera;
    const left = x + 16 + this.card.offsetWidth > width ? x - 16 - this.card.offsetWidth : x + 16;
    const top = y + 12 + this.card.offsetHeight > height ? y - 12 - this.card.offsetHeight : y + 12;
    this.card.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }

  // The boxes of what stands on the map, which names keep away from.
  get boxes() {
    const shown = [this.tools, this.legend, this.searchBox, this.note].filter((each) => each?.parentElement === this.root && !each.hidden);
    return shown.map((each) => ({
      left: each.offsetLeft,
      top: each.offsetTop,
      right: each.offsetLeft + each.offsetWidth,
      bottom: each.offsetTop + (each === this.searchBox ? this.search.offsetHeight : each.offsetHeight),
    }));
  }

  hideCard() {
    this.card.style.display = "none";
  }

  // The search stands on the map, or above it in the bar of a page that leaves room for it there.
  addSearch(isAbove) {
    if (!this.search) this.makeSearch();
    const place = isAbove ? this.root.parentElement : this.root;
    if (this.searchBox.parentElement !== place) place.append(this.searchBox);
    this.searchBox.classList.toggle("xc-map-search-above", isAbove);
  }

  makeSearch() {
    const box = makeElement(this.root, "div", "xc-map-search");
    this.searchBox = box;
    this.list = makeElement(box, "div", "xc-map-suggestions", "", { role: "listbox", id: `xc-${Math.random().toString(36).slice(2)}` });
    this.list.hidden = true;
    this.search = makeElement(box, "input", "", "", {
      type: "search",
      placeholder: "Find a label",
      "aria-label": "Find a label",
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": this.list.id,
      autocomplete: "off",
      spellcheck: "false",
    });
    box.prepend(makeIcon(LENS), this.search);
    this.search.addEventListener("input", () => this.suggest());
    this.search.addEventListener("keydown", (event) => this.answerKey(event));
    this.search.addEventListener("blur", () => this.fold());
  }

  suggest() {
    const { names, labels } = this.map;
    this.found = names ? names.search(this.search.value, MAX_SUGGESTIONS, labels.sizes) : [];
    this.chosen = this.found.length ? 0 : -1;
    this.list.replaceChildren();
    for (const [at, place] of this.found.entries()) {
      const row = makeElement(this.list, "div", "xc-map-suggestion", names.get(place), { role: "option", id: `${this.list.id}-${at}` });
      row.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        this.take(at);
      });
    }
    if (!this.found.length && this.search.value.trim()) makeElement(this.list, "div", "xc-map-none", "No label has this in its name.");
    this.list.hidden = !this.search.value.trim();
    this.search.setAttribute("aria-expanded", String(!this.list.hidden));
    this.mark();
  }

  mark() {
    this.list.querySelectorAll("[role=option]").forEach((row, at) => row.setAttribute("aria-selected", String(at === this.chosen)));
    if (this.chosen >= 0) this.search.setAttribute("aria-activedescendant", `${this.list.id}-${this.chosen}`);
    else this.search.removeAttribute("aria-activedescendant");
  }

  answerKey(event) {
    event.stopPropagation(); // the page around has keys of its own
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found?.length) {
      this.chosen = (this.chosen + step + this.found.length) % this.found.length;
      this.mark();
      event.preventDefault();
    } else if (event.key === "Enter" && this.chosen >= 0) {
      this.take(this.chosen);
    } else if (event.key === "Escape") {
      this.search.value = "";
      this.fold();
      this.root.focus();
    }
  }

  take(at) {
    const place = this.found[at];
    this.search.value = this.map.names.get(place);
    this.fold();
    this.root.focus();
    this.map.chooseLabel(place, true);
  }

  fold() {
    if (this.list) this.list.hidden = true;
    this.search?.setAttribute("aria-expanded", "false");
  }
}
