// Draws the map of clusters, and the shape of one dead letter. The page has an <svg> for each, with what is to be drawn in its data.
"use strict"
const shape = (name, attributes, ...inner) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...inner)
  return element
}
const tenth = (v) => Math.round(v * 10) / 10
const path = (lines, at, end) => lines.map((line) => line.map((p, i) => "ML"[Math.min(i, 1)] + at(p).map(tenth).join(" ")).join("") + end).join("")

// frame fits places into a picture, with a margin: a plate carrée whose scale is right at its middle. Numbers that are no degrees have the
// same scale in both directions. least is the smallest extent.
function frame(places, width, height, degrees, least) {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const [x, y] of places) [west, south, east, north] = [Math.min(west, x), Math.min(south, y), Math.max(east, x), Math.max(north, y)]
  if (!(east - west < 1e12 && north - south < 1e12)) throw new RangeError("no system has such places")
  const squeeze = degrees ? Math.max(Math.cos((south + north) / 2 * Math.PI / 180), 0.05) : 1
  let scale = Math.min(width / Math.max((east - west) * squeeze, least), height / Math.max(north - south, least)) / 1.1
  let middle = (south + north) / 2
  if (degrees) { // the world is not shown smaller than the picture
    scale = Math.max(scale, height / 180)
    middle = Math.max(Math.min(middle, 90 - height / scale / 2), -90 + height / scale / 2)
  }
  const [wide, high] = [width / scale / squeeze, height / scale]
  const box = { west: (west + east) / 2 - wide / 2, south: middle - high / 2, wide, high }
  return { ...box, east: box.west + wide, north: box.south + high, at: ([x, y]) => [(x - box.west) * scale * squeeze, (box.south + high - y) * scale] }
}

// step returns 1, 2 or 5 times a power of ten that is not smaller than about a number.
function step(least) {
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 5].find((factor) => factor * power >= least) ?? 10) * power
}

const sides = { x: ["W", "E"], y: ["S", "N"] }
function label(v, by, degrees, axis) {
  const decimals = Math.max(0, Math.ceil(-Math.log10(by) - 1e-9))
  if (!degrees) return v.toFixed(decimals)
  if (axis === "x") v -= 360 * Math.round(v / 360)
  return Math.abs(v).toFixed(decimals) + "°" + (Math.abs(v) < by / 2 ? "" : sides[axis][Number(v > 0)])
}

// grid returns lines at round numbers, and their labels.
function grid(on, width, height, degrees) {
  const out = []
  let by = step(on.wide / 6)
  for (let v = Math.ceil(on.west / by) * by; v < on.east; v += by) {
    const x = tenth(on.at([v, 0])[0])
    out.push(shape("line", { class: "grid", x1: x, y1: 0, x2: x, y2: height }), shape("text", { class: "label", x, y: height - 4, dx: 4 }, label(v, by, degrees, "x")))
  }
  by = step(on.high / 4)
  for (let v = Math.ceil(on.south / by) * by; v < on.north; v += by) {
    const y = tenth(on.at([0, v])[1])
    out.push(shape("line", { class: "grid", x1: 0, y1: y, x2: width, y2: y }), shape("text", { class: "label", x: 4, y, dy: -4 }, label(v, by, degrees, "y")))
  }
  return out
}

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 })
const numbers = (text) => text.split(",").map(Number)

function drawMap(svg) {
  const { width, height } = svg.viewBox.baseVal, degrees = "degrees" in svg.dataset
  const marks = [...svg.querySelectorAll("a")]
  const places = marks.map((mark) => numbers(mark.dataset.at))
  if ("crosses" in svg.dataset) for (const place of places) if (place[0] < 0) place[0] += 360
  const on = frame(places, width, height, degrees, degrees ? 0.001 : 100)
  marks.forEach((mark, i) => {
    const [x, y] = on.at(places[i]).map(tenth), n = Number(mark.dataset.deadLetters)
    mark.append(shape("circle", { class: mark.dataset.class, cx: x, cy: y, r: tenth(5 + 3 * Math.log10(n)) }))
    if (n >= 100) mark.append(shape("text", { class: "count", x, y }, short.format(n)))
  })
  svg.prepend(...grid(on, width, height, degrees))
  if (degrees) drawWorld(svg, on)
}

// drawWorld draws land and borders: /world.txt has a line for each, of steps in hundredths of a degree.
async function drawWorld(svg, on) {
  const lines = { land: [], border: [] }
  for (const text of (await (await fetch("/world.txt")).text()).trim().split("\n")) {
    const [kind, ...steps] = text.split(" ")
    let x = 0, y = 0
    const line = steps.map(numbers).map(([dx, dy]) => [(x += dx) / 100, (y += dy) / 100])
    const [xs, ys] = [0, 1].map((i) => line.map((p) => p[i]))
    const [west, south, east, north] = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)]
    for (const turn of [-360, 0, 360]) { // the picture may lie over the antimeridian
      if (west + turn < on.east && east + turn > on.west && south < on.north && north > on.south) lines[kind].push(line.map(([x, y]) => [x + turn, y]))
    }
  }
  svg.prepend(shape("path", { class: "land", d: path(lines.land, on.at, "Z") }), shape("path", { class: "border", d: path(lines.border, on.at, "") }))
}

const isPosition = (v) => Array.isArray(v) && Number.isFinite(v[0]) && Number.isFinite(v[1])

// parts collects the lines of a GeoJSON geometry by how they are drawn.
function parts(geometry, out = { area: [], line: [], point: [] }) {
  for (const inner of geometry.geometries ?? []) parts(inner, out)
  const to = out[{ Point: "point", MultiPoint: "point", Polygon: "area", MultiPolygon: "area" }[geometry.type] ?? "line"]
  const walk = (list) => {
    if (list.length && list.every(isPosition)) to.push(list)
    else list.forEach(walk)
  }
  if (geometry.coordinates) walk(geometry.type === "Point" ? [geometry.coordinates] : geometry.coordinates)
  return out
}

// positionAt returns the position that a JSON Pointer names, or of which it names a number.
function positionAt(feature, pointer) {
  let at = feature, found = null
  for (const name of pointer.split("/").slice(1)) {
    at = at?.[name.replaceAll("~1", "/").replaceAll("~0", "~")]
    if (isPosition(at)) found = at
  }
  return found
}

function drawShape(svg) {
  const { width, height } = svg.viewBox.baseVal, feature = { geometry: JSON.parse(svg.dataset.geometry) }
  const drawn = [[feature.geometry, ""], ...svg.dataset.repaired ? [[JSON.parse(svg.dataset.repaired), " repaired"]] : []].map(([geometry, also]) => [parts(geometry), also])
  const mark = svg.dataset.place ? numbers(svg.dataset.place) : positionAt(feature, svg.dataset.path)
  const places = drawn.flatMap(([of]) => Object.values(of).flat(2))
  if (places.length === 0) throw new RangeError("there is nothing to draw")
  if (mark) places.push(mark)
  const on = frame(places, width, height, places.every(([x, y]) => Math.abs(x) <= 360 && Math.abs(y) <= 90), 1e-9)
  for (const [of, also] of drawn) {
    svg.append(shape("path", { class: "area" + also, d: path(of.area, on.at, "Z") }), shape("path", { class: "line" + also, d: path(of.line, on.at, "") }))
    for (const [cx, cy] of of.point.flat().map(on.at)) svg.append(shape("circle", { class: "waits" + also, cx, cy, r: also ? 7 : 4 }))
  }
  if (mark) svg.append(shape("path", { class: "fault", transform: `translate(${on.at(mark).map(tenth).join(" ")})`, d: "M-7 -7L7 7M-7 7L7 -7" }))
  document.getElementById("cross").hidden = !mark
}

for (const svg of document.querySelectorAll("svg.map")) {
  try {
    (svg.dataset.geometry ? drawShape : drawMap)(svg)
  } catch {
    svg.closest("section").hidden = true // what is no place, or no shape
  }
}
