// What a row of `label_list.js` may have besides words: cells, a verdict, details, a menu; the heads of columns,
// the box below all rows, and the light on the row that is pointed at.

/** Make a verdict: its sign on a square, and its name. */
function makeVerdict(verdict) {
  const shown = make("span", "verdict");
  shown.append(make("span", `square ${verdict.look}`, verdict.sign), make("b", verdict.look, verdict.word));
  shown.firstChild.setAttribute("aria-hidden", "true");
  return shown;
}

/** Make what stands below a row while it is selected: terms with their texts, and buttons. */
function makeDetails(row, setTriggerValue) {
  const details = make("dl", "details");
  row.details.forEach(([term, text]) => details.append(make("dt", "", term), make("dd", "", text)));
  if (row.actions.length) {
    const buttons = make("dd", "actions");
    row.actions.forEach(([action, title]) => {
      const button = make("button", "action", title);
      button.onclick = () => setTriggerValue("action", action);
      buttons.append(button);
    });
    details.append(buttons);
  }
  return details;
}

/** Make the last cell of a table: the mark of a run and its value. */
function makeMarkedValue(row) {
  const cell = make("span", "cell marked");
  if (row.mark) cell.append(makeSign(row, {}));
  cell.append(make("b", "", row.value));
  return cell;
}

function makeHead(columns) {
  const head = make("div", "head");
  head.setAttribute("aria-hidden", "true"); // every row is read as a whole
  columns.forEach((column) => head.append(make("span", "cell", column.title)));
  return head;
}

/** Make a cell of a sorted table: a text, or a point with its range on an axis that all rows share. */
function makeSortCell(cell, column, row) {
  const classes = ["cell", cell.is_bold && "bold", cell.is_muted && "muted"].filter(Boolean).join(" ");
  const box = make("span", classes, cell.span ? undefined : cell.text);
  box.style.width = `${column.width}rem`;
  if (!cell.span) return box;
  const [low, point, high] = cell.span.map((value) => 100 * value);
  const [axis, range, dot] = ["axis", "range", `mark ${row.mark?.shape ?? "disc"}`].map((name) => make("span", name));
  Object.assign(range.style, { left: `${low}%`, width: `${high - low}%` });
  Object.assign(dot.style, { left: `${point}%` });
  axis.style.setProperty("--mark", row.mark?.colour ?? "var(--text)");
  axis.append(range, dot);
  box.append(axis, make("span", "spoken", cell.text));
  return box;
}

/** Make the heads of the columns, which sort. */
function makeSortHead(data, hasSigns, sort) {
  const head = make("div", "head");
  if (hasSigns) head.append(make("span", "mark-place"));
  const columns = [{ id: "run", title: data.head, note: "", help: "" }, ...data.sortColumns];
  columns.forEach((column) => {
    const box = make("span", column.ends ? "cell ends" : column.width ? "cell" : "words");
    if (column.width) box.style.width = `${column.width}rem`;
    head.append(box);
    if (column.ends) return box.append(...column.ends.map((text) => make("span", "", text)));
    const isSorted = data.sort.replace(/^-/, "") === column.id;
    const arrow = isSorted ? ` ${data.sort.startsWith("-") ? "↑" : "↓"}` : "";
    const button = make("button", "sorts");
    button.append(make("span", "", column.title + arrow), make("span", "", column.note));
    button.setAttribute("aria-pressed", String(isSorted));
    Object.assign(button, { title: column.help || "Sort", onclick: () => sort(column.id) });
    box.append(button);
  });
  return head;
}

/** Make the menu ⋯ of a row; `send` is called with what was chosen in it. */
function makeMenu(row, send) {
  const menu = make("span", "menu");
  const button = make("button", "dots", "⋯");
  button.title = "More";
  button.setAttribute("aria-label", `More about ${row.name}`);
  button.setAttribute("aria-haspopup", "menu");
  const items = make("div", "items");
  items.setAttribute("role", "menu");
  items.popover = "auto"; // closes by itself, and lies over everything
  row.menu.forEach((action) => {
    const item = make("button", "item", action);
    item.setAttribute("role", "menuitem");
    item.onclick = () => {
      items.hidePopover();
      send(`${action}\n${row.id}`);
    };
    items.append(item);
  });
  button.onclick = () => {
    items.togglePopover();
    if (!items.matches(":popover-open")) return;
    const [place, size] = [button.getBoundingClientRect(), items.getBoundingClientRect()];
    items.style.left = `${Math.max(8, place.right - size.width)}px`;
    items.style.top = `${Math.min(place.bottom + 2, window.innerHeight - size.height - 8)}px`;
    items.firstChild.focus();
  };
  items.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const all = [...items.children];
    all[(all.indexOf(items.getRootNode().activeElement) + step + all.length) % all.length].focus();
    event.preventDefault();
  };
  menu.onclick = (event) => event.stopPropagation(); // the row itself is not chosen
  menu.onkeydown = (event) => event.stopPropagation();
  menu.append(button, items);
  return menu;
}

/** Make the box below the rows: a sentence, and what can be done about it. */
function makeFoot(data, act) {
  const foot = make("div", "foot", data.foot);
  foot.setAttribute("role", "note");
  if (data.footAction) {
    const button = make("button", "", data.footAction);
    button.onclick = act;
    foot.append(" ", button);
  }
  return foot;
}

const heard = new WeakSet(); // charts that tell which series the mouse is on

/** Let the whole page know which row the mouse or the keyboard is on, so that charts light it; and light the row of a
    series that the mouse is on in a chart. The id of its row is the `meta` of a series. */
function lightRows(list, options) {
  const page = document.documentElement;
  const light = (option) => {
    if (option) page.dataset.lit = option.dataset.row;
    else delete page.dataset.lit;
    options.forEach((each) => each.classList.toggle("lit", each === option));
  };
  options.forEach((option) => (option.onpointerenter = () => light(option)));
  list.onpointerleave = () => light(null);
  list.onblur = () => light(null);
  const hear = (event) => {
    const chart = event.target.closest?.(".js-plotly-plot");
    if (!chart?.on || heard.has(chart)) return;
    heard.add(chart);
    const tell = (row) => document.dispatchEvent(new CustomEvent("xcwork-series", { detail: row }));
    chart.on("plotly_hover", (hover) => tell(hover.points[0]?.fullData.meta));
    chart.on("plotly_unhover", () => tell(undefined));
  };
  const follow = (event) => light(options.find((option) => option.dataset.row === event.detail) ?? null);
  document.addEventListener("pointerover", hear);
  document.addEventListener("xcwork-series", follow);
  const stop = () => {
    document.removeEventListener("pointerover", hear);
    document.removeEventListener("xcwork-series", follow);
    light(null);
  };
  return { light, stop };
}
