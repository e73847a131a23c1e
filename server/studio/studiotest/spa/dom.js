export function element(name, text) {
  const node = document.createElement(name)
  node.textContent = text
  return node
}

export function show(...nodes) {
  document.getElementById('view').replaceChildren(...nodes)
}
