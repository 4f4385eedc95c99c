// A picture of the map as it is seen, in twice as many pixels: all canvases, the names of regions, and the legend.

const PICTURE_RATIO = 2;
const PICTURE_NAME = "label-map.png";

// Return a canvas with everything but the tools.
function takePicture(map, ratio = PICTURE_RATIO) {
  const { camera, theme } = map;
  const picture = document.createElement("canvas");
  picture.width = Math.round(camera.width * ratio);
  picture.height = Math.round(camera.height * ratio);
  const context = picture.getContext("2d");
  context.fillStyle = theme.background;
  context.fillRect(0, 0, picture.width, picture.height);
  const usual = map.ratio;
  map.setRatio(ratio);
  map.drawScene(false);
  for (const canvas of [map.back, map.middle, map.front]) if (!canvas.hidden) context.drawImage(canvas, 0, 0, picture.width, picture.height);
  map.setRatio(usual);
  map.drawScene(false);
  map.requestFrame();
  context.scale(ratio, ratio);
  copyRegionNames(context, map);
  copyLegend(context, map);
  return picture;
}

function copyRegionNames(context, map) {
  context.font = map.fonts.bold;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.lineJoin = "round";
  for (const box of map.regionNames.boxes) {
    const middle = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    context.strokeStyle = map.region === box.at ? map.theme.selected : map.theme.background;
    context.fillStyle = map.regionNames.regions[box.at].is_weak ? map.theme.weak : map.theme.text;
    context.lineWidth = 4;
    context.strokeText(box.name, ...middle);
    context.fillText(box.name, ...middle);
  }
  context.textAlign = "left";
}

// The legend is copied piece by piece from where the page put it.
function copyLegend(context, map) {
  const { legend } = map.controls;
  if (legend.hidden) return;
  const { left, top } = map.corner;
  const place = (element) => {
    const box = element.getBoundingClientRect();
    return [box.left - left, box.top - top, box.width, box.height];
  };
  context.globalAlpha = 0.86;
  context.fillStyle = map.theme.background;
  context.fillRect(...place(legend));
  context.globalAlpha = 1;
  for (const element of legend.querySelectorAll("b, select, i, span")) {
    const [x, y, width, height] = place(element);
    if (element.classList.contains("xc-map-dot")) fillDot(context, x + width / 2, y + height / 2, width / 2, element.style.background);
    else if (element.classList.contains("xc-map-ramp")) fillRamp(context, x, y, width, height, map.colours.ramp[map.theme.name]);
    else if (!element.firstElementChild || element.matches("select")) {
      context.font = `${element.matches("b, select") ? "600 " : ""}${map.fonts.plain}`;
      context.fillStyle = map.theme.text;
      context.textBaseline = "middle";
      context.fillText(element.selectedOptions?.[0].textContent ?? element.textContent, x, y + height / 2);
    }
  }
}

function fillDot(context, x, y, radius, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function fillRamp(context, x, y, width, height, colours) {
  const ramp = context.createLinearGradient(x, 0, x + width, 0);
  colours.forEach((colour, at) => ramp.addColorStop(at / (colours.length - 1), colour));
  context.fillStyle = ramp;
  context.fillRect(x, y, width, height);
}

// Let the browser save the picture as a file.
async function savePicture(map) {
  const content = await new Promise((done) => takePicture(map).toBlob(done));
  const address = URL.createObjectURL(content);
  makeElement(map.root, "a", "", "", { href: address, download: PICTURE_NAME, hidden: "" }).click();
  map.root.querySelector("a[download]").remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  map.controls.say("The picture is saved");
}
