// The search widget: <slipway-search> finds the pages of a site in a browser, with the index
// and the ranking of the search tool. It makes no HTML out of text, and its styles are in a
// sheet of its own, so that it works under a strict content security policy.

import { NoFile, search } from '../search.js';

const script = document.currentScript;
const maxFiles = 300; // of the index, in memory
const pause = 150; // milliseconds between the last key and a search

const loaded = new Map();

/** The files of the index, which are next to this script. */
const files = {
  load(name) {
    let file = loaded.get(name);
    if (!file) {
      if (loaded.size >= maxFiles) loaded.delete(loaded.keys().next().value);
      file = read(name);
      loaded.set(name, file);
      file.catch(() => loaded.delete(name));
    }
    return file;
  },
  forget: (name) => loaded.delete(name),
};

async function read(name) {
  const path = name.split('/').map(encodeURIComponent).join('/');
  const response = await fetch(new URL('.staticmcp/search/' + path, script.src));
  if (response.status === 404) throw new NoFile(name);
  if (!response.ok) throw new Error(`${name}: status ${response.status}`);
  return response.json();
}

const sheet = new CSSStyleSheet();
sheet.replaceSync(`
:host { display: block; position: relative; font: inherit; color-scheme: inherit }
:host([hidden]) { display: none }
label { display: block; margin-bottom: .25em }
input { box-sizing: border-box; width: 100%; padding: .5em .75em; font: inherit; color: FieldText; background: Field;
  border: 1px solid GrayText; border-radius: .375em }
input:focus-visible, a:focus-visible { outline: 2px solid Highlight; outline-offset: 1px }
.results { position: absolute; z-index: 10; left: 0; right: 0; min-width: 16em; max-height: 70vh; overflow-y: auto;
  color: CanvasText; background: Canvas; border: 1px solid GrayText; border-radius: .375em }
.results[hidden] { display: none }
p { margin: 0; padding: .5em .75em }
ol { list-style: none; margin: 0; padding: 0 }
a { display: block; padding: .5em .75em; color: inherit; text-decoration: none; overflow-wrap: anywhere }
a:hover, a:focus { background: color-mix(in srgb, CanvasText 10%, Canvas) }
strong { color: LinkText; text-decoration: underline }
span { display: block; font-size: .9em }
`);

function element(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

class SlipwaySearch extends HTMLElement {
  #latest = 0;
  #timer;

  connectedCallback() {
    if (this.shadowRoot) return;
    this.attachShadow({ mode: 'open', delegatesFocus: true }).adoptedStyleSheets = [sheet];
    this.input = element('input', { id: 'query', type: 'search', part: 'input', autocomplete: 'off', spellcheck: 'false', maxlength: '200' });
    this.status = element('p', { role: 'status' });
    this.list = element('ol', { part: 'list' });
    this.results = element('div', { class: 'results', part: 'results', hidden: '' }, this.status, this.list);
    const label = element('label', { for: 'query', part: 'label' }, this.text('label', 'Search the documentation'));
    const form = element('form', { role: 'search' }, label, this.input, this.results);
    form.addEventListener('submit', (event) => this.submit(event));
    form.addEventListener('keydown', (event) => this.press(event));
    this.input.addEventListener('input', () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.find(), pause);
    });
    this.shadowRoot.append(form);
    this.addEventListener('focusout', (event) => {
      if (event.relatedTarget && !this.contains(event.relatedTarget)) this.results.hidden = true;
    });
    this.addEventListener('focusin', () => {
      this.results.hidden = this.input.value.trim() === '';
    });
  }

  disconnectedCallback() {
    clearTimeout(this.#timer);
  }

  /** Returns a text of the widget, which an attribute can replace. */
  text(name, usual) {
    return this.getAttribute(name) ?? usual;
  }

  /** Opens the best result. */
  async submit(event) {
    event.preventDefault();
    clearTimeout(this.#timer);
    await this.find();
    this.list.querySelector('a')?.click();
  }

  /** Moves between the results with the arrow keys, and closes them with Escape. */
  press(event) {
    const places = [this.input, ...this.list.querySelectorAll('a')];
    const at = places.indexOf(this.shadowRoot.activeElement);
    if (event.key === 'ArrowDown') places[Math.min(at + 1, places.length - 1)].focus();
    else if (event.key === 'ArrowUp') places[Math.max(at - 1, 0)].focus();
    else if (event.key === 'Escape' && !this.results.hidden) {
      this.input.focus();
      this.results.hidden = true;
    } else return;
    event.preventDefault();
  }

  /** Searches for what the input has, and shows the results unless a later search has begun. */
  async find() {
    const query = this.input.value.trim();
    const number = ++this.#latest;
    let hits = [];
    let status = '';
    if (query !== '') {
      try {
        const limit = Number(this.getAttribute('limit')) || 0;
        const result = await search(files, { phrasings: [query], section: this.getAttribute('section') ?? '', limit, offset: 0 });
        hits = result.hits;
        status = hits.length === 0 ? this.text('none', 'No results') : this.text('found', '{n} results').replace('{n}', hits.length);
      } catch (e) {
        console.error(e);
        status = this.text('failed', 'The search is unavailable');
      }
    }
    if (number !== this.#latest) return;
    this.status.textContent = status;
    this.list.replaceChildren(...hits.map((h) => element('li', {}, this.link(h))));
    this.results.hidden = query === '';
  }

  link(hit) {
    const link = element('a', { href: this.address(hit) }, element('strong', {}, hit.title));
    if (hit.heading && hit.heading !== hit.title) link.append(element('span', {}, hit.heading));
    if (hit.snippet) link.append(element('span', {}, hit.snippet));
    return link;
  }

  /**
   * Returns where a result leads: to the page on the host of this script, which may be a
   * preview, or, if its address is unknown, to its path below the attribute base.
   */
  address(hit) {
    let path;
    if (hit.link) path = new URL(hit.link).pathname;
    else path = this.text('base', '../') + (hit.page === 'home' ? '' : hit.page.split('/').map(encodeURIComponent).join('/') + '/');
    const url = new URL(path, script.src);
    url.hash = hit.slug ?? '';
    return url.href;
  }
}

if (!customElements.get('slipway-search')) customElements.define('slipway-search', SlipwaySearch);
