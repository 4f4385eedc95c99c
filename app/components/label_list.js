// The list of `label_list.py`. All text is set with textContent; nothing from outside becomes HTML.

const BREAKS = /(?<=[_/])|(?<=[.:\-])(?!\d)/; // a name may wrap after these, but not within a number
const MOVE_PAUSE = 200; // milliseconds without another key before a row that was moved to is chosen

/** Set a text that may wrap at dots, underscores, slashes, colons and hyphens. */
function setName(element, text) {
  text.split(BREAKS).forEach((part, at) => {
    if (at) element.append(document.createElement("wbr"));
    element.append(document.createTextNode(part));
  });
  return element;
}

function makeSign(row, signs) {
  if (row.mark) {
    const mark = make("span", `mark ${row.mark.shape}`);
    mark.style.setProperty("--mark", row.mark.colour);
    mark.setAttribute("aria-hidden", "true");
    return mark;
  }
  const sign = make("span", row.sign ? `sign ${row.sign}` : "sign none");
  if (row.sign) {
    sign.append(make("span", "glyph", signs[row.sign].sign), make("span", "spoken", ` ${signs[row.sign].word}: `));
    sign.firstChild.setAttribute("aria-hidden", "true");
    sign.title = signs[row.sign].word;
  }
  return sign;
}

function makeFigure(row, barColour) {
  const figure = make("span", row.share === null ? "figure text" : "figure");
  figure.append(make("span", "value", row.value));
  if (row.share !== null) {
    const track = make("span", "track");
    const bar = make("span", "bar");
    bar.style.width = `${100 * row.share}%`;
    bar.style.background = row.colour || barColour;
    track.append(bar);
    figure.append(track);
  }
  return figure;
}

function makeRow(row, number, data, hasSigns, setTriggerValue) {
  const option = make("div", "row");
  option.id = `row-${number}`;
  option.dataset.row = row.id;
  option.setAttribute("role", "option");
  option.setAttribute("aria-selected", String(row.id === data.selected));
  option.classList.toggle("done", row.isDone);
  option.classList.toggle("off", row.isOff);
  if (hasSigns && !data.columns.length) option.append(makeSign(row, data.signs));
  const words = make("span", "words");
  const isSorted = data.sortColumns.length > 0;
  if (!isSorted && (row.path || row.note)) {
    const above = make("span", "above");
    setName(above, row.path);
    if (row.note) above.append(make("span", "note", row.path ? ` · ${row.note}` : row.note));
    words.append(above);
  }
  const name = make("span", "name");
  setName(name, row.name);
  name.title = row.hint || row.path + row.name;
  if (row.hint) option.title = row.hint;
  words.append(name);
  if (isSorted && row.note) name.append(make("span", "note", ` ${row.note}`));
  if (row.below) {
    const below = make("span", "below");
    setName(below, row.below);
    words.append(below);
  }
  option.append(words);
  row.cells.forEach((cell, at) => {
    option.append(isSorted ? makeSortCell(cell, data.sortColumns[at], row) : setName(make("span", "cell"), cell));
  });
  if (row.verdict) option.append(makeVerdict(row.verdict));
  else if (data.columns.length) option.append(makeMarkedValue(row));
  else if (row.value) option.append(makeFigure(row, data.barColour));
  if (row.details.length && row.id === data.selected) option.append(makeDetails(row, setTriggerValue));
  return option;
}

/** Offer `more` where a name has more than three lines. */
function offerRest(list) {
  list.querySelectorAll(".name").forEach((name) => {
    const isCut = !name.classList.contains("whole") && name.scrollHeight > name.clientHeight + 1;
    const old = name.parentElement.querySelector(".more-of-name");
    if (!isCut && old && !name.classList.contains("whole")) old.remove();
    if (!isCut || old) return;
    const more = make("span", "more-of-name", "more");
    more.onclick = (event) => {
      event.stopPropagation();
      showRest(name);
    };
    name.after(more);
  });
}

function showRest(name) {
  name.classList.add("whole");
  name.parentElement.querySelector(".more-of-name")?.remove();
}

function makeLegend(data) {
  const legend = make("div", "legend");
  legend.setAttribute("aria-hidden", "true");
  data.legend.forEach((name) => {
    const item = make("span", "");
    const sign = make("span", `sign ${name}`);
    sign.append(make("span", "glyph", data.signs[name].sign));
    item.append(sign, document.createTextNode(data.signs[name].word));
    legend.append(item);
  });
  return legend;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const before = parentElement.querySelector(".frame");
  if (before?.querySelector(".items:popover-open")) return () => {}; // somebody is choosing in a menu
  const hadFocus = before !== null && before.contains(before.getRootNode().activeElement);
  const scrolled = before?.querySelector(".rows")?.scrollTop ?? 0;
  const opened = new Set([...(before?.querySelectorAll(".name.whole") ?? [])].map((name) => name.title));

  const frame = makeFrame(data);
  if (data.columns.length) {
    const hasVerdicts = data.groups.some((group) => group.rows.some((row) => row.verdict));
    frame.classList.add(hasVerdicts ? "ledger" : "table");
    frame.style.setProperty("--columns", data.columns.map((column) => column.width).join(" "));
    frame.append(makeHead(data.columns));
  }
  const list = make("div", "rows");
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", data.label);
  list.tabIndex = 0;
  const hasSigns = data.groups.some((group) => group.rows.some((row) => row.sign || row.mark));
  const options = [];
  if (data.sortColumns.length) {
    frame.classList.add("sorted");
    frame.append(makeSortHead(data, hasSigns, (id) => setTriggerValue("sort", id)));
  }
  data.groups.forEach((group, at) => {
    const block = make("div", "group");
    block.setAttribute("role", "group");
    if (group.title) {
      const heading = make("div", "heading");
      heading.id = `heading-${at}`;
      heading.append(make("b", "", group.title), make("span", "", group.note ? ` ${group.note}` : ""));
      block.setAttribute("aria-labelledby", heading.id);
      block.append(heading);
    }
    group.rows.forEach((row) => {
      options.push(makeRow(row, options.length, data, hasSigns, setTriggerValue));
      if (row.menu.length) options.at(-1).append(makeMenu(row, (sent) => setTriggerValue("menu", sent)));
      block.append(options.at(-1));
    });
    list.append(block);
  });
  if (data.empty) list.append(make("div", "empty", data.empty));
  if (data.rest) list.append(make("div", "empty", data.rest));
  frame.append(list);
  if (data.more) {
    const button = make("button", "more", data.more);
    button.onclick = () => setTriggerValue("more", "more");
    frame.append(button);
  }
  frame.append(make("div", "spring"));
  if (data.foot) frame.append(makeFoot(data, () => setTriggerValue("foot", "foot")));
  if (data.legend.length) frame.append(makeLegend(data));

  let active = options.findIndex((option) => option.dataset.row === data.selected);
  let timer = 0;
  const lights = data.lights ? lightRows(list, options) : null;

  function activate(at, scrolls) {
    options[active]?.classList.remove("active");
    active = at;
    options[active].classList.add("active");
    list.setAttribute("aria-activedescendant", options[active].id);
    if (scrolls) options[active].scrollIntoView({ block: "nearest" });
    if (scrolls) lights?.light(options[active]);
  }

  function choose(at) {
    clearTimeout(timer);
    activate(at, false);
    options.forEach((option, position) => option.setAttribute("aria-selected", String(position === at)));
    setTriggerValue("chosen", options[at].dataset.row);
  }

  options.forEach((option, at) => {
    option.onclick = (event) => {
      if (!event.target.closest(".details")) choose(at); // text in there may be marked and copied
    };
  });
  list.onkeydown = (event) => {
    if (!options.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = options.length - 1;
    const target = {
      ArrowDown: Math.min(active + 1, last),
      ArrowUp: active < 0 ? last : Math.max(active - 1, 0),
      Home: 0,
      End: last,
    }[event.key];
    if (target !== undefined) {
      activate(target, true);
      clearTimeout(timer);
      if (data.chooseOnMove) timer = setTimeout(() => choose(target), MOVE_PAUSE);
    } else if ((event.key === "Enter" || event.key === " ") && active >= 0) {
      choose(active);
    } else if (event.key === "ArrowRight" && active >= 0) {
      showRest(options[active].querySelector(".name"));
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  list.onfocus = () => {
    if (active < 0 && options.length) activate(0, false);
  };

  if (before) before.replaceWith(frame);
  else parentElement.append(frame);
  frame.querySelectorAll(".name").forEach((name) => name.classList.toggle("whole", opened.has(name.title)));
  if (active >= 0) activate(active, false);
  list.scrollTop = scrolled;
  if (hadFocus) list.focus({ preventScroll: true });
  const observer = new ResizeObserver(() => offerRest(list));
  observer.observe(list);
  const stopFitting = data.fitsWindow ? fitWindow(frame) : () => {};
  // A row that the page chose is brought into sight; the page itself stays where it is.
  const wasSelected = before?.querySelector(".rows")?.dataset.selected;
  list.dataset.selected = data.selected;
  if (active >= 0 && data.selected !== wasSelected) {
    const [row, box] = [options[active].getBoundingClientRect(), list.getBoundingClientRect()];
    if (row.top < box.top) list.scrollTop -= box.top - row.top;
    else if (row.bottom > box.bottom) list.scrollTop += row.bottom - box.bottom;
  }
  return () => {
    observer.disconnect();
    stopFitting();
    clearTimeout(timer);
    lights?.stop();
  };
}
