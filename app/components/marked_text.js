// The text of `marked_text.py`. All text is set with textContent; nothing from outside becomes HTML.

const SPOKEN = { strong: "strong evidence", medium: "evidence", weak: "weak evidence", against: "against" };

const MAX_TITLE = 90; // characters of a first line that is set as a title
const FULL_LINE = 55; // characters after which a line was broken because it was full
const RULE = /^\s*([-=~^])\1{2,}\s*$/; // the line under a heading
const CODE = /^\s*(>>>|\.\.\.)/;
const LIST_ITEM = /^\s*([-*•>]|>>>|\.\.\.|\d+[.)])\s/; // or a line of code

function makeMark(part, text, chosen) {
  const mark = make("mark", part.strength, text);
  mark.setAttribute("role", "button");
  mark.setAttribute("aria-pressed", String(part.word === chosen));
  mark.setAttribute("aria-description", SPOKEN[part.strength]);
  mark.dataset.word = part.word;
  mark.title = part.title || SPOKEN[part.strength];
  mark.tabIndex = -1;
  return mark;
}

/** Lay out the lines of a plain text: a title, headings that are underlined with dashes, paragraphs that flow. */
function layOut(parts, makePiece) {
  const lines = [make("span", "line")];
  parts.forEach((part) => {
    part.text.split("\n").forEach((piece, at) => {
      if (at) {
        lines.at(-1).append(make("span", "gone", "\n")); // kept for those who read the text of the element
        lines.push(make("span", "line"));
      }
      if (piece) lines.at(-1).append(makePiece(part, piece));
    });
  });
  const texts = lines.map((line) => line.textContent.replace(/\n$/, ""));
  const isTitled = lines.length > 2 && texts[0].trim() && texts[0].length <= MAX_TITLE;
  const blocks = [];
  lines.forEach((line, at) => {
    const text = texts[at];
    const isRule = RULE.test(text) && blocks.at(-1)?.className === "block";
    if (isRule) blocks.at(-1).className = "block heading";
    const flows = blocks.at(-1)?.className.startsWith("block") && flowsOn(texts[at - 1], text);
    if (flows && !isRule) {
      blocks.at(-1).append(" ", hideIndent(line));
      return;
    }
    const kind = !text.trim() ? "blank" : isRule ? "gone" : at === 0 && isTitled ? "title" : "block";
    blocks.push(make("div", kind));
    if (/^\s/.test(text) && kind === "block") blocks.at(-1).className = "block indented";
    blocks.at(-1).append(hideIndent(line));
  });
  return blocks;
}

/** Return whether a line only goes on where the one before was full. */
function flowsOn(before, text) {
  const indent = (line) => line.length - line.trimStart().length;
  const isText = !LIST_ITEM.test(text) && !CODE.test(before);
  return before.length >= FULL_LINE && text.trim() && indent(before) === indent(text) && isText;
}

function hideIndent(line) {
  const first = line.firstChild;
  const spaces = first?.nodeType === Node.TEXT_NODE ? first.data.match(/^[ \t]*/)[0].length : 0;
  if (spaces && spaces < line.textContent.length) {
    if (spaces < first.data.length) first.splitText(spaces);
    first.replaceWith(make("span", "gone", first.data));
  }
  return line;
}

function makeLegend(strengths) {
  const legend = make("div", "legend");
  legend.setAttribute("aria-hidden", "true");
  const shown = strengths.filter((each) => each !== "against");
  shown.forEach((each) => legend.append(make("mark", each, each)));
  if (shown.length) legend.append(make("span", "", "evidence"));
  if (strengths.includes("against")) legend.append(make("mark", "against", "against"));
  return legend;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const before = parentElement.querySelector(".frame");
  const focused = before?.getRootNode().activeElement;
  const hadFocus = Boolean(focused && before.contains(focused));
  const scrolled = before?.querySelector(".text")?.scrollTop ?? 0;

  const frame = makeFrame(data);
  const text = make("div", "text");
  text.setAttribute("role", "group");
  text.setAttribute("aria-label", data.label);
  const marks = [];
  const makePiece = (part, piece) => {
    if (!part.strength) return document.createTextNode(piece);
    marks.push(makeMark(part, piece, data.chosen));
    return marks.at(-1);
  };
  text.append(...layOut(data.parts, makePiece));
  frame.append(text);
  if (data.legend.length) frame.append(makeLegend(data.legend));

  let current = Math.max(0, hadFocus ? Number(focused.dataset.at ?? 0) : marks.findIndex((mark) => mark.dataset.word === data.chosen));
  current = Math.min(current, marks.length - 1);

  function moveTo(at) {
    marks[current].tabIndex = -1;
    current = at;
    marks[current].tabIndex = 0;
    marks[current].focus();
  }

  function choose(mark) {
    marks.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.word === mark.dataset.word)));
    setTriggerValue("chosen", mark.dataset.word);
  }

  marks.forEach((mark, at) => {
    mark.dataset.at = String(at);
    mark.onclick = () => {
      moveTo(at);
      choose(mark);
    };
    mark.onkeydown = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: marks.length - 1 }[event.key];
      if (target !== undefined) moveTo(Math.min(Math.max(target, 0), marks.length - 1));
      else if (event.key === "Enter" || event.key === " ") choose(mark);
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
  });
  if (marks.length) marks[current].tabIndex = 0;
  else if (data.classes.includes("fills")) text.tabIndex = 0; // so that the keyboard can scroll it

  if (before) before.replaceWith(frame);
  else parentElement.append(frame);
  text.scrollTop = scrolled;
  if (hadFocus && marks.length) marks[current].focus({ preventScroll: true });
  return data.fitsWindow ? fitWindow(frame) : () => {};
}
