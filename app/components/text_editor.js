// The editor of `text_editor.py`: a text area without ground over the same text with marks. All text is set with
// textContent; nothing from outside becomes HTML.

const TYPING_PAUSE = 400; // milliseconds without another key before the text is sent

function fillMarks(marked, data) {
  marked.replaceChildren();
  data.parts.forEach((part) => {
    if (!part.strength) {
      marked.append(document.createTextNode(part.text));
      return;
    }
    const mark = make("mark", part.strength, part.text);
    mark.classList.toggle("chosen", part.word === data.chosen);
    marked.append(mark);
  });
  marked.append(document.createTextNode("\n")); // a last line that is empty has a height in a text area
}

/** Return the word of the mark that covers a place in the text, if there is one. */
function findWord(parts, place) {
  let at = 0;
  for (const part of parts) {
    at += part.text.length;
    if (place < at || (place === at && part.strength)) return part.strength ? part.word : undefined;
  }
  return undefined;
}

export default function ({ data, parentElement, setTriggerValue }) {
  let frame = parentElement.querySelector(".frame");
  if (frame === null) {
    frame = makeFrame(data);
    const editor = make("div", "editor");
    const marked = make("div", "marked");
    marked.setAttribute("aria-hidden", "true");
    editor.append(marked, make("textarea", ""));
    frame.append(editor);
    parentElement.append(frame);
  }
  const area = frame.querySelector("textarea");
  const marked = frame.querySelector(".marked");
  area.setAttribute("aria-label", data.label);
  area.placeholder = data.placeholder;
  area.spellcheck = false;
  // What is being typed is newer than what the server has seen: it leads until it was sent.
  if (frame.dataset.sent === undefined || (area.value === frame.dataset.sent && area.value !== data.text)) area.value = data.text;
  frame.dataset.sent = area.value;
  const isCurrent = area.value === data.text;
  fillMarks(marked, isCurrent ? data : { parts: [{ text: area.value, strength: "" }] });
  const follow = () => {
    marked.scrollTop = area.scrollTop;
  };
  follow();

  function send() {
    clearTimeout(Number(frame.dataset.timer));
    if (area.value === frame.dataset.sent && area.value === data.text) return;
    frame.dataset.sent = area.value;
    setTriggerValue("edited", area.value);
  }
  area.onscroll = follow;
  area.oninput = () => {
    fillMarks(marked, { parts: [{ text: area.value, strength: "" }] });
    follow();
    clearTimeout(Number(frame.dataset.timer));
    frame.dataset.timer = String(setTimeout(send, TYPING_PAUSE));
  };
  area.onblur = send;
  area.onkeydown = (event) => {
    event.stopPropagation(); // letters are text here, not shortcuts of the page
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
  };
  area.onclick = () => {
    if (area.selectionStart !== area.selectionEnd || area.value !== data.text) return;
    const word = findWord(data.parts, area.selectionStart);
    if (word !== undefined) setTriggerValue("chosen", word);
  };
  return data.fitsWindow ? fitWindow(frame) : () => {};
}
