// Keys that save a hand the way to the mouse, the selection of rows, and buttons that copy. The list of keys is in the page: #keys.
"use strict"
const places = { h: "/", m: "/map", r: "/replays", a: "/audit" }
let going = false // the key before was g
const rows = () => [...document.querySelectorAll("main tr")].map((row) => row.querySelector("a[href]")).filter(Boolean)
const picks = () => [...document.querySelectorAll("input[name=id][form=picked]")]

// step moves the focus to the link of another row.
function step(by) {
  const list = rows(), at = list.indexOf(document.activeElement?.closest("tr")?.querySelector("a[href]"))
  const to = list[Math.max(0, Math.min(list.length - 1, at < 0 ? 0 : at + by))]
  to?.focus()
  to?.scrollIntoView({ block: "nearest" })
}

// count says on the buttons how many rows are selected.
function count() {
  const form = document.getElementById("picked")
  if (!form) return
  const n = picks().filter((box) => box.checked).length
  form.hidden = n === 0
  document.getElementById("listed").hidden = n > 0
  for (const button of form.querySelectorAll("button")) button.textContent = `${button.dataset.verb} ${n} dead letter${n === 1 ? "" : "s"}…`
  const all = document.getElementById("all")
  all.checked = n > 0 && n === picks().length
  all.indeterminate = n > 0 && n < picks().length
}

function pick(box, on) {
  box.checked = on
  count()
}

document.addEventListener("change", (event) => {
  if (event.target.id === "all") for (const box of picks()) box.checked = event.target.checked
  count()
})
addEventListener("pageshow", count) // a browser that goes back keeps what was selected

const keys = {
  j: () => step(1),
  k: () => step(-1),
  "/": () => document.querySelector("main input:not([type=hidden], [type=checkbox])")?.focus(),
  "?": () => document.getElementById("keys").togglePopover(),
  g: () => { going = true },
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  const field = event.target.closest("input:not([type=checkbox]), select, textarea")
  if (field) {
    if (event.key === "Escape") field.blur()
    return
  }
  if (event.key === "Escape" && !document.querySelector(":popover-open")) for (const box of picks()) pick(box, false)
  const row = event.target.closest("main tr"), box = row?.querySelector("input[name=id]")
  const go = going && document.querySelector(`nav a[href="${places[event.key]}"]`)
  going = false
  if (go) go.click()
  else if (row && event.key === "ArrowDown") step(1)
  else if (row && event.key === "ArrowUp") step(-1)
  else if (event.key === " " && box && event.target.matches("a")) pick(box, !box.checked)
  else if (Object.hasOwn(keys, event.key)) keys[event.key]()
  else return
  event.preventDefault()
})

// copy puts the whole of a value, which the page may show cut, into the clipboard, and says so where nothing moves.
let said // timer of what is said
async function copy(button) {
  const { copy: text, from } = button.dataset
  let done = true
  try {
    const answer = from && await fetch(from)
    if (answer && !answer.ok) throw new Error(answer.statusText)
    await navigator.clipboard.writeText(answer ? await answer.text() : text)
  } catch {
    done = false
  }
  clearTimeout(said)
  const tell = (words, ...how) => {
    for (const other of document.querySelectorAll(".copy")) other.classList.remove("good", "bad")
    button.classList.add(...how)
    document.querySelector("header .rest").textContent = words
  }
  tell(done ? "copied" : "not copied", done ? "good" : "bad")
  said = setTimeout(tell, 2000, "")
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy")
  if (button) copy(button)
})
