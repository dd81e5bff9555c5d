// The stemmer is generated from github.com/blevesearch/snowballstem/spanish. Do not edit.

/*!
Copyright (c) 2001, Dr Martin Porter
Copyright (c) 2004,2005, Richard Boulton
Copyright (c) 2013, Yoshiki Shibukawa
Copyright (c) 2006,2007,2009,2010,2011,2014-2019, Olly Betts
All rights reserved.

Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions
are met:

  1. Redistributions of source code must retain the above copyright notice,
     this list of conditions and the following disclaimer.
  2. Redistributions in binary form must reproduce the above copyright notice,
     this list of conditions and the following disclaimer in the documentation
     and/or other materials provided with the distribution.
  3. Neither the name of the Snowball project nor the names of its contributors
     may be used to endorse or promote products derived from this software
     without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND
ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED
WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT OWNER OR CONTRIBUTORS BE LIABLE FOR
ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES
(INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES;
LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON
ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT
(INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS
SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
*/

const LANGUAGE = { code: "es", stops: "a al algo ante antes como cómo con contra cual cuál cuando cuándo de del desde donde dónde dos e el él ella ellas ellos en entre era es esa ese eso esta está estas este esto estos ha hace hacer hasta hay la las le les lo los más me mi mis mucho muy no nos o otra otro para pero por porque puede puedo que qué quien quién se ser si sí sin sobre son su sus también te tiene tu tus un una uno unos y ya yo", weak: "", related: "", elides: false };

const stem = (() => {
const A_0 = [["",-1,6],["\u00E1",0,1],["\u00E9",0,2],["\u00ED",0,3],["\u00F3",0,4],["\u00FA",0,5]];
const A_1 = [["la",-1,-1],["sela",0,-1],["le",-1,-1],["me",-1,-1],["se",-1,-1],["lo",-1,-1],["selo",5,-1],["las",-1,-1],["selas",7,-1],["les",-1,-1],["los",-1,-1],["selos",10,-1],["nos",-1,-1]];
const A_2 = [["ando",-1,6],["iendo",-1,6],["yendo",-1,7],["\u00E1ndo",-1,2],["i\u00E9ndo",-1,1],["ar",-1,6],["er",-1,6],["ir",-1,6],["\u00E1r",-1,3],["\u00E9r",-1,4],["\u00EDr",-1,5]];
const A_3 = [["ic",-1,-1],["ad",-1,-1],["os",-1,-1],["iv",-1,1]];
const A_4 = [["able",-1,1],["ible",-1,1],["ante",-1,1]];
const A_5 = [["ic",-1,1],["abil",-1,1],["iv",-1,1]];
const A_6 = [["ica",-1,1],["ancia",-1,2],["encia",-1,5],["adora",-1,2],["osa",-1,1],["ista",-1,1],["iva",-1,9],["anza",-1,1],["log\u00EDa",-1,3],["idad",-1,8],["able",-1,1],["ible",-1,1],["ante",-1,2],["mente",-1,7],["amente",13,6],["aci\u00F3n",-1,2],["uci\u00F3n",-1,4],["ico",-1,1],["ismo",-1,1],["oso",-1,1],["amiento",-1,1],["imiento",-1,1],["ivo",-1,9],["ador",-1,2],["icas",-1,1],["ancias",-1,2],["encias",-1,5],["adoras",-1,2],["osas",-1,1],["istas",-1,1],["ivas",-1,9],["anzas",-1,1],["log\u00EDas",-1,3],["idades",-1,8],["ables",-1,1],["ibles",-1,1],["aciones",-1,2],["uciones",-1,4],["adores",-1,2],["antes",-1,2],["icos",-1,1],["ismos",-1,1],["osos",-1,1],["amientos",-1,1],["imientos",-1,1],["ivos",-1,9]];
const A_7 = [["ya",-1,1],["ye",-1,1],["yan",-1,1],["yen",-1,1],["yeron",-1,1],["yendo",-1,1],["yo",-1,1],["yas",-1,1],["yes",-1,1],["yais",-1,1],["yamos",-1,1],["y\u00F3",-1,1]];
const A_8 = [["aba",-1,2],["ada",-1,2],["ida",-1,2],["ara",-1,2],["iera",-1,2],["\u00EDa",-1,2],["ar\u00EDa",5,2],["er\u00EDa",5,2],["ir\u00EDa",5,2],["ad",-1,2],["ed",-1,2],["id",-1,2],["ase",-1,2],["iese",-1,2],["aste",-1,2],["iste",-1,2],["an",-1,2],["aban",16,2],["aran",16,2],["ieran",16,2],["\u00EDan",16,2],["ar\u00EDan",20,2],["er\u00EDan",20,2],["ir\u00EDan",20,2],["en",-1,1],["asen",24,2],["iesen",24,2],["aron",-1,2],["ieron",-1,2],["ar\u00E1n",-1,2],["er\u00E1n",-1,2],["ir\u00E1n",-1,2],["ado",-1,2],["ido",-1,2],["ando",-1,2],["iendo",-1,2],["ar",-1,2],["er",-1,2],["ir",-1,2],["as",-1,2],["abas",39,2],["adas",39,2],["idas",39,2],["aras",39,2],["ieras",39,2],["\u00EDas",39,2],["ar\u00EDas",45,2],["er\u00EDas",45,2],["ir\u00EDas",45,2],["es",-1,1],["ases",49,2],["ieses",49,2],["abais",-1,2],["arais",-1,2],["ierais",-1,2],["\u00EDais",-1,2],["ar\u00EDais",55,2],["er\u00EDais",55,2],["ir\u00EDais",55,2],["aseis",-1,2],["ieseis",-1,2],["asteis",-1,2],["isteis",-1,2],["\u00E1is",-1,2],["\u00E9is",-1,1],["ar\u00E9is",64,2],["er\u00E9is",64,2],["ir\u00E9is",64,2],["ados",-1,2],["idos",-1,2],["amos",-1,2],["\u00E1bamos",70,2],["\u00E1ramos",70,2],["i\u00E9ramos",70,2],["\u00EDamos",70,2],["ar\u00EDamos",74,2],["er\u00EDamos",74,2],["ir\u00EDamos",74,2],["emos",-1,1],["aremos",78,2],["eremos",78,2],["iremos",78,2],["\u00E1semos",78,2],["i\u00E9semos",78,2],["imos",-1,2],["ar\u00E1s",-1,2],["er\u00E1s",-1,2],["ir\u00E1s",-1,2],["\u00EDs",-1,2],["ar\u00E1",-1,2],["er\u00E1",-1,2],["ir\u00E1",-1,2],["ar\u00E9",-1,2],["er\u00E9",-1,2],["ir\u00E9",-1,2],["i\u00F3",-1,2]];
const A_9 = [["a",-1,1],["e",-1,2],["o",-1,1],["os",-1,1],["\u00E1",-1,1],["\u00E9",-1,2],["\u00ED",-1,1],["\u00F3",-1,1]];
const G_v = [17,65,16,0,0,0,0,0,0,0,0,0,0,0,0,0,1,17,4,10];
function r_mark_regions(e, context) {
context.i_pV = e.l;
context.i_p1 = e.l;
context.i_p2 = e.l;
let v_1 = e.c;
lab0: while (true) {
lab1: while (true) {
let v_2 = e.c;
lab2: while (true) {
if (!e.inGrouping(G_v, 97, 252)) {
break lab2;
}
lab3: while (true) {
let v_3 = e.c;
lab4: while (true) {
if (!e.outGrouping(G_v, 97, 252)) {
break lab4;
}
golab5: while (true) {
lab6: while (true) {
if (!e.inGrouping(G_v, 97, 252)) {
break lab6;
}
break golab5;
}
if (e.c >= e.l) {
break lab4;
}
e.next();
}
break lab3;
}
e.c = v_3;
if (!e.inGrouping(G_v, 97, 252)) {
break lab2;
}
golab7: while (true) {
lab8: while (true) {
if (!e.outGrouping(G_v, 97, 252)) {
break lab8;
}
break golab7;
}
if (e.c >= e.l) {
break lab2;
}
e.next();
}
break lab3;
}
break lab1;
}
e.c = v_2;
if (!e.outGrouping(G_v, 97, 252)) {
break lab0;
}
lab9: while (true) {
let v_6 = e.c;
lab10: while (true) {
if (!e.outGrouping(G_v, 97, 252)) {
break lab10;
}
golab11: while (true) {
lab12: while (true) {
if (!e.inGrouping(G_v, 97, 252)) {
break lab12;
}
break golab11;
}
if (e.c >= e.l) {
break lab10;
}
e.next();
}
break lab9;
}
e.c = v_6;
if (!e.inGrouping(G_v, 97, 252)) {
break lab0;
}
if (e.c >= e.l) {
break lab0;
}
e.next();
break lab9;
}
break lab1;
}
context.i_pV = e.c;
break lab0;
}
e.c = v_1;
let v_8 = e.c;
lab13: while (true) {
golab14: while (true) {
lab15: while (true) {
if (!e.inGrouping(G_v, 97, 252)) {
break lab15;
}
break golab14;
}
if (e.c >= e.l) {
break lab13;
}
e.next();
}
golab16: while (true) {
lab17: while (true) {
if (!e.outGrouping(G_v, 97, 252)) {
break lab17;
}
break golab16;
}
if (e.c >= e.l) {
break lab13;
}
e.next();
}
context.i_p1 = e.c;
golab18: while (true) {
lab19: while (true) {
if (!e.inGrouping(G_v, 97, 252)) {
break lab19;
}
break golab18;
}
if (e.c >= e.l) {
break lab13;
}
e.next();
}
golab20: while (true) {
lab21: while (true) {
if (!e.outGrouping(G_v, 97, 252)) {
break lab21;
}
break golab20;
}
if (e.c >= e.l) {
break lab13;
}
e.next();
}
context.i_p2 = e.c;
break lab13;
}
e.c = v_8;
return true;
}
function r_postlude(e, context) {
let among_var = 0;
replab0: while (true) {
let v_1 = e.c;
lab1: for (let round = 0; round < 2; round++) {
e.bra = e.c;
among_var = e.among(A_0, context);
if (among_var === 0) {
break lab1;
}
e.ket = e.c;
if (among_var === 0) {
break lab1;
} else if (among_var === 1) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("i")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceFrom("o")) {
return false;
}
} else if (among_var === 5) {
if (!e.sliceFrom("u")) {
return false;
}
} else if (among_var === 6) {
if (e.c >= e.l) {
break lab1;
}
e.next();
}
continue replab0;
}
e.c = v_1;
break replab0;
}
return true;
}
function r_RV(e, context) {
if (!(context.i_pV <= e.c)) {
return false;
}
return true;
}
function r_R1(e, context) {
if (!(context.i_p1 <= e.c)) {
return false;
}
return true;
}
function r_R2(e, context) {
if (!(context.i_p2 <= e.c)) {
return false;
}
return true;
}
function r_attached_pronoun(e, context) {
let among_var = 0;
e.ket = e.c;
if (e.amongB(A_1, context) === 0) {
return false;
}
e.bra = e.c;
among_var = e.amongB(A_2, context);
if (among_var === 0) {
return false;
}
if (!r_RV(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
e.bra = e.c;
if (!e.sliceFrom("iendo")) {
return false;
}
} else if (among_var === 2) {
e.bra = e.c;
if (!e.sliceFrom("ando")) {
return false;
}
} else if (among_var === 3) {
e.bra = e.c;
if (!e.sliceFrom("ar")) {
return false;
}
} else if (among_var === 4) {
e.bra = e.c;
if (!e.sliceFrom("er")) {
return false;
}
} else if (among_var === 5) {
e.bra = e.c;
if (!e.sliceFrom("ir")) {
return false;
}
} else if (among_var === 6) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 7) {
if (!e.eqB("u")) {
return false;
}
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_standard_suffix(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_6, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_1 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
if (!e.eqB("ic")) {
e.c = e.l - v_1;
break lab0;
}
e.bra = e.c;
if (!r_R2(e, context)) {
e.c = e.l - v_1;
break lab0;
}
if (!e.sliceDel()) {
return false;
}
break lab0;
}
} else if (among_var === 3) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceFrom("log")) {
return false;
}
} else if (among_var === 4) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceFrom("u")) {
return false;
}
} else if (among_var === 5) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceFrom("ente")) {
return false;
}
} else if (among_var === 6) {
if (!r_R1(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_2 = e.l - e.c;
lab1: while (true) {
e.ket = e.c;
among_var = e.amongB(A_3, context);
if (among_var === 0) {
e.c = e.l - v_2;
break lab1;
}
e.bra = e.c;
if (!r_R2(e, context)) {
e.c = e.l - v_2;
break lab1;
}
if (!e.sliceDel()) {
return false;
}
if (among_var === 0) {
e.c = e.l - v_2;
break lab1;
} else if (among_var === 1) {
e.ket = e.c;
if (!e.eqB("at")) {
e.c = e.l - v_2;
break lab1;
}
e.bra = e.c;
if (!r_R2(e, context)) {
e.c = e.l - v_2;
break lab1;
}
if (!e.sliceDel()) {
return false;
}
}
break lab1;
}
} else if (among_var === 7) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_3 = e.l - e.c;
lab2: while (true) {
e.ket = e.c;
among_var = e.amongB(A_4, context);
if (among_var === 0) {
e.c = e.l - v_3;
break lab2;
}
e.bra = e.c;
if (among_var === 0) {
e.c = e.l - v_3;
break lab2;
} else if (among_var === 1) {
if (!r_R2(e, context)) {
e.c = e.l - v_3;
break lab2;
}
if (!e.sliceDel()) {
return false;
}
}
break lab2;
}
} else if (among_var === 8) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_4 = e.l - e.c;
lab3: while (true) {
e.ket = e.c;
among_var = e.amongB(A_5, context);
if (among_var === 0) {
e.c = e.l - v_4;
break lab3;
}
e.bra = e.c;
if (among_var === 0) {
e.c = e.l - v_4;
break lab3;
} else if (among_var === 1) {
if (!r_R2(e, context)) {
e.c = e.l - v_4;
break lab3;
}
if (!e.sliceDel()) {
return false;
}
}
break lab3;
}
} else if (among_var === 9) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_5 = e.l - e.c;
lab4: while (true) {
e.ket = e.c;
if (!e.eqB("at")) {
e.c = e.l - v_5;
break lab4;
}
e.bra = e.c;
if (!r_R2(e, context)) {
e.c = e.l - v_5;
break lab4;
}
if (!e.sliceDel()) {
return false;
}
break lab4;
}
}
return true;
}
function r_y_verb_suffix(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
if (e.c < context.i_pV) {
return false;
}
e.c = context.i_pV;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
among_var = e.amongB(A_7, context);
if (among_var === 0) {
e.lb = v_2;
return false;
}
e.bra = e.c;
e.lb = v_2;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.eqB("u")) {
return false;
}
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_verb_suffix(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
if (e.c < context.i_pV) {
return false;
}
e.c = context.i_pV;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
among_var = e.amongB(A_8, context);
if (among_var === 0) {
e.lb = v_2;
return false;
}
e.bra = e.c;
e.lb = v_2;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
let v_3 = e.l - e.c;
lab0: while (true) {
if (!e.eqB("u")) {
e.c = e.l - v_3;
break lab0;
}
let v_4 = e.l - e.c;
if (!e.eqB("g")) {
e.c = e.l - v_3;
break lab0;
}
e.c = e.l - v_4;
break lab0;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_residual_suffix(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_9, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!r_RV(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!r_RV(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_1 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
if (!e.eqB("u")) {
e.c = e.l - v_1;
break lab0;
}
e.bra = e.c;
let v_2 = e.l - e.c;
if (!e.eqB("g")) {
e.c = e.l - v_1;
break lab0;
}
e.c = e.l - v_2;
if (!r_RV(e, context)) {
e.c = e.l - v_1;
break lab0;
}
if (!e.sliceDel()) {
return false;
}
break lab0;
}
}
return true;
}
function Stem(e) {
let context = { i_p2: 0, i_p1: 0, i_pV: 0 };
let v_1 = e.c;
lab0: while (true) {
if (!r_mark_regions(e, context)) {
break lab0;
}
break lab0;
}
e.c = v_1;
e.lb = e.c;
e.c = e.l;
let v_2 = e.l - e.c;
lab1: while (true) {
if (!r_attached_pronoun(e, context)) {
break lab1;
}
break lab1;
}
e.c = e.l - v_2;
let v_3 = e.l - e.c;
lab2: while (true) {
lab3: while (true) {
let v_4 = e.l - e.c;
lab4: while (true) {
if (!r_standard_suffix(e, context)) {
break lab4;
}
break lab3;
}
e.c = e.l - v_4;
lab5: while (true) {
if (!r_y_verb_suffix(e, context)) {
break lab5;
}
break lab3;
}
e.c = e.l - v_4;
if (!r_verb_suffix(e, context)) {
break lab2;
}
break lab3;
}
break lab2;
}
e.c = e.l - v_3;
let v_5 = e.l - e.c;
lab6: while (true) {
if (!r_residual_suffix(e, context)) {
break lab6;
}
break lab6;
}
e.c = e.l - v_5;
e.c = e.lb;
let v_6 = e.c;
lab7: while (true) {
if (!r_postlude(e, context)) {
break lab7;
}
break lab7;
}
e.c = v_6;
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
