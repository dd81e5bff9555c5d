// What elements become, see web/build.
export { Fragment, h } from 'preact'
