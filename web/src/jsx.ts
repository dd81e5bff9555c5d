// What elements become, see web/build. No variable may have these names.
export { createElement, Fragment } from 'preact'
