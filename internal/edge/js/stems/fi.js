// The stemmer is generated from github.com/blevesearch/snowballstem/finnish. Do not edit.

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

const LANGUAGE = { code: "fi", stops: "ei eivät emme en ette että ja jo joka jos jota jotka kaikki kanssa koska kuin kuinka kuka kun me mihin mikä miksi millä minä missä miten mitä mukaan mutta myös ne niin nyt näin ole olen olet oli olisi olla on ovat se sekä sen siellä siitä sitten sitä tai te toinen tämä tätä vaan vai vain voi", weak: "", related: "", elides: false };

const stem = (() => {
const A_0 = [["pa",-1,1],["sti",-1,2],["kaan",-1,1],["han",-1,1],["kin",-1,1],["h\u00E4n",-1,1],["k\u00E4\u00E4n",-1,1],["ko",-1,1],["p\u00E4",-1,1],["k\u00F6",-1,1]];
const A_1 = [["lla",-1,-1],["na",-1,-1],["ssa",-1,-1],["ta",-1,-1],["lta",3,-1],["sta",3,-1]];
const A_2 = [["ll\u00E4",-1,-1],["n\u00E4",-1,-1],["ss\u00E4",-1,-1],["t\u00E4",-1,-1],["lt\u00E4",3,-1],["st\u00E4",3,-1]];
const A_3 = [["lle",-1,-1],["ine",-1,-1]];
const A_4 = [["nsa",-1,3],["mme",-1,3],["nne",-1,3],["ni",-1,2],["si",-1,1],["an",-1,4],["en",-1,6],["\u00E4n",-1,5],["ns\u00E4",-1,3]];
const A_5 = [["aa",-1,-1],["ee",-1,-1],["ii",-1,-1],["oo",-1,-1],["uu",-1,-1],["\u00E4\u00E4",-1,-1],["\u00F6\u00F6",-1,-1]];
const A_6 = [["a",-1,8],["lla",0,-1],["na",0,-1],["ssa",0,-1],["ta",0,-1],["lta",4,-1],["sta",4,-1],["tta",4,9],["lle",-1,-1],["ine",-1,-1],["ksi",-1,-1],["n",-1,7],["han",11,1],["den",11,-1,r_VI],["seen",11,-1,r_LONG],["hen",11,2],["tten",11,-1,r_VI],["hin",11,3],["siin",11,-1,r_VI],["hon",11,4],["h\u00E4n",11,5],["h\u00F6n",11,6],["\u00E4",-1,8],["ll\u00E4",22,-1],["n\u00E4",22,-1],["ss\u00E4",22,-1],["t\u00E4",22,-1],["lt\u00E4",26,-1],["st\u00E4",26,-1],["tt\u00E4",26,9]];
const A_7 = [["eja",-1,-1],["mma",-1,1],["imma",1,-1],["mpa",-1,1],["impa",3,-1],["mmi",-1,1],["immi",5,-1],["mpi",-1,1],["impi",7,-1],["ej\u00E4",-1,-1],["mm\u00E4",-1,1],["imm\u00E4",10,-1],["mp\u00E4",-1,1],["imp\u00E4",12,-1]];
const A_8 = [["i",-1,-1],["j",-1,-1]];
const A_9 = [["mma",-1,1],["imma",0,-1]];
const G_AEI = [17,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,8];
const G_V1 = [17,65,16,1,0,0,0,0,0,0,0,0,0,0,0,0,8,0,32];
const G_V2 = [17,65,16,0,0,0,0,0,0,0,0,0,0,0,0,0,8,0,32];
const G_particle_end = [17,97,24,1,0,0,0,0,0,0,0,0,0,0,0,0,8,0,32];
function r_mark_regions(e, context) {
context.i_p1 = e.l;
context.i_p2 = e.l;
golab0: while (true) {
let v_1 = e.c;
lab1: while (true) {
if (!e.inGrouping(G_V1, 97, 246)) {
break lab1;
}
e.c = v_1;
break golab0;
}
e.c = v_1;
if (e.c >= e.l) {
return false;
}
e.next();
}
golab2: while (true) {
lab3: while (true) {
if (!e.outGrouping(G_V1, 97, 246)) {
break lab3;
}
break golab2;
}
if (e.c >= e.l) {
return false;
}
e.next();
}
context.i_p1 = e.c;
golab4: while (true) {
let v_3 = e.c;
lab5: while (true) {
if (!e.inGrouping(G_V1, 97, 246)) {
break lab5;
}
e.c = v_3;
break golab4;
}
e.c = v_3;
if (e.c >= e.l) {
return false;
}
e.next();
}
golab6: while (true) {
lab7: while (true) {
if (!e.outGrouping(G_V1, 97, 246)) {
break lab7;
}
break golab6;
}
if (e.c >= e.l) {
return false;
}
e.next();
}
context.i_p2 = e.c;
return true;
}
function r_R2(e, context) {
if (!(context.i_p2 <= e.c)) {
return false;
}
return true;
}
function r_particle_etc(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
if (e.c < context.i_p1) {
return false;
}
e.c = context.i_p1;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
among_var = e.amongB(A_0, context);
if (among_var === 0) {
e.lb = v_2;
return false;
}
e.bra = e.c;
e.lb = v_2;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.inGroupingB(G_particle_end, 97, 246)) {
return false;
}
} else if (among_var === 2) {
if (!r_R2(e, context)) {
return false;
}
}
if (!e.sliceDel()) {
return false;
}
return true;
}
function r_possessive(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
if (e.c < context.i_p1) {
return false;
}
e.c = context.i_p1;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
among_var = e.amongB(A_4, context);
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
if (!e.eqB("k")) {
break lab0;
}
return false;
}
e.c = e.l - v_3;
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceDel()) {
return false;
}
e.ket = e.c;
if (!e.eqB("kse")) {
return false;
}
e.bra = e.c;
if (!e.sliceFrom("ksi")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 4) {
if (e.amongB(A_1, context) === 0) {
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 5) {
if (e.amongB(A_2, context) === 0) {
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 6) {
if (e.amongB(A_3, context) === 0) {
return false;
}
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_LONG(e, context) {
if (e.amongB(A_5, context) === 0) {
return false;
}
return true;
}
function r_VI(e, context) {
if (!e.eqB("i")) {
return false;
}
if (!e.inGroupingB(G_V2, 97, 246)) {
return false;
}
return true;
}
function r_case_ending(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
if (e.c < context.i_p1) {
return false;
}
e.c = context.i_p1;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
among_var = e.amongB(A_6, context);
if (among_var === 0) {
e.lb = v_2;
return false;
}
e.bra = e.c;
e.lb = v_2;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.eqB("a")) {
return false;
}
} else if (among_var === 2) {
if (!e.eqB("e")) {
return false;
}
} else if (among_var === 3) {
if (!e.eqB("i")) {
return false;
}
} else if (among_var === 4) {
if (!e.eqB("o")) {
return false;
}
} else if (among_var === 5) {
if (!e.eqB("\u00E4")) {
return false;
}
} else if (among_var === 6) {
if (!e.eqB("\u00F6")) {
return false;
}
} else if (among_var === 7) {
let v_3 = e.l - e.c;
lab0: while (true) {
let v_4 = e.l - e.c;
lab1: while (true) {
let v_5 = e.l - e.c;
lab2: while (true) {
if (!r_LONG(e, context)) {
break lab2;
}
break lab1;
}
e.c = e.l - v_5;
if (!e.eqB("ie")) {
e.c = e.l - v_3;
break lab0;
}
break lab1;
}
e.c = e.l - v_4;
if (e.c <= e.lb) {
e.c = e.l - v_3;
break lab0;
}
e.prev();
e.bra = e.c;
break lab0;
}
} else if (among_var === 8) {
if (!e.inGroupingB(G_V1, 97, 246)) {
return false;
}
if (!e.outGroupingB(G_V1, 97, 246)) {
return false;
}
} else if (among_var === 9) {
if (!e.eqB("e")) {
return false;
}
}
if (!e.sliceDel()) {
return false;
}
context.b_ending_removed = true;
return true;
}
function r_other_endings(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
if (e.c < context.i_p2) {
return false;
}
e.c = context.i_p2;
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
let v_3 = e.l - e.c;
lab0: while (true) {
if (!e.eqB("po")) {
break lab0;
}
return false;
}
e.c = e.l - v_3;
}
if (!e.sliceDel()) {
return false;
}
return true;
}
function r_i_plural(e, context) {
let v_1 = e.l - e.c;
if (e.c < context.i_p1) {
return false;
}
e.c = context.i_p1;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
if (e.amongB(A_8, context) === 0) {
e.lb = v_2;
return false;
}
e.bra = e.c;
e.lb = v_2;
if (!e.sliceDel()) {
return false;
}
return true;
}
function r_t_plural(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
if (e.c < context.i_p1) {
return false;
}
e.c = context.i_p1;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
if (!e.eqB("t")) {
e.lb = v_2;
return false;
}
e.bra = e.c;
let v_3 = e.l - e.c;
if (!e.inGroupingB(G_V1, 97, 246)) {
e.lb = v_2;
return false;
}
e.c = e.l - v_3;
if (!e.sliceDel()) {
return false;
}
e.lb = v_2;
let v_4 = e.l - e.c;
if (e.c < context.i_p2) {
return false;
}
e.c = context.i_p2;
let v_5 = e.lb;
e.lb = e.c;
e.c = e.l - v_4;
e.ket = e.c;
among_var = e.amongB(A_9, context);
if (among_var === 0) {
e.lb = v_5;
return false;
}
e.bra = e.c;
e.lb = v_5;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
let v_6 = e.l - e.c;
lab0: while (true) {
if (!e.eqB("po")) {
break lab0;
}
return false;
}
e.c = e.l - v_6;
}
if (!e.sliceDel()) {
return false;
}
return true;
}
function r_tidy(e, context) {
let v_1 = e.l - e.c;
if (e.c < context.i_p1) {
return false;
}
e.c = context.i_p1;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
let v_3 = e.l - e.c;
lab0: while (true) {
let v_4 = e.l - e.c;
if (!r_LONG(e, context)) {
break lab0;
}
e.c = e.l - v_4;
e.ket = e.c;
if (e.c <= e.lb) {
break lab0;
}
e.prev();
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
break lab0;
}
e.c = e.l - v_3;
let v_5 = e.l - e.c;
lab1: while (true) {
e.ket = e.c;
if (!e.inGroupingB(G_AEI, 97, 228)) {
break lab1;
}
e.bra = e.c;
if (!e.outGroupingB(G_V1, 97, 246)) {
break lab1;
}
if (!e.sliceDel()) {
return false;
}
break lab1;
}
e.c = e.l - v_5;
let v_6 = e.l - e.c;
lab2: while (true) {
e.ket = e.c;
if (!e.eqB("j")) {
break lab2;
}
e.bra = e.c;
lab3: while (true) {
let v_7 = e.l - e.c;
lab4: while (true) {
if (!e.eqB("o")) {
break lab4;
}
break lab3;
}
e.c = e.l - v_7;
if (!e.eqB("u")) {
break lab2;
}
break lab3;
}
if (!e.sliceDel()) {
return false;
}
break lab2;
}
e.c = e.l - v_6;
let v_8 = e.l - e.c;
lab5: while (true) {
e.ket = e.c;
if (!e.eqB("o")) {
break lab5;
}
e.bra = e.c;
if (!e.eqB("j")) {
break lab5;
}
if (!e.sliceDel()) {
return false;
}
break lab5;
}
e.c = e.l - v_8;
e.lb = v_2;
golab6: while (true) {
let v_9 = e.l - e.c;
lab7: while (true) {
if (!e.outGroupingB(G_V1, 97, 246)) {
break lab7;
}
e.c = e.l - v_9;
break golab6;
}
e.c = e.l - v_9;
if (e.c <= e.lb) {
return false;
}
e.prev();
}
e.ket = e.c;
if (e.c <= e.lb) {
return false;
}
e.prev();
e.bra = e.c;
context.S_x = e.sliceTo();
if (context.S_x === "") {
return false;
}
if (!e.eqB(context.S_x)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
return true;
}
function Stem(e) {
let context = { b_ending_removed: false, S_x: "", i_p2: 0, i_p1: 0 };
let v_1 = e.c;
lab0: while (true) {
if (!r_mark_regions(e, context)) {
break lab0;
}
break lab0;
}
e.c = v_1;
context.b_ending_removed = false;
e.lb = e.c;
e.c = e.l;
let v_2 = e.l - e.c;
lab1: while (true) {
if (!r_particle_etc(e, context)) {
break lab1;
}
break lab1;
}
e.c = e.l - v_2;
let v_3 = e.l - e.c;
lab2: while (true) {
if (!r_possessive(e, context)) {
break lab2;
}
break lab2;
}
e.c = e.l - v_3;
let v_4 = e.l - e.c;
lab3: while (true) {
if (!r_case_ending(e, context)) {
break lab3;
}
break lab3;
}
e.c = e.l - v_4;
let v_5 = e.l - e.c;
lab4: while (true) {
if (!r_other_endings(e, context)) {
break lab4;
}
break lab4;
}
e.c = e.l - v_5;
lab5: while (true) {
let v_6 = e.l - e.c;
lab6: while (true) {
if (!context.b_ending_removed) {
break lab6;
}
let v_7 = e.l - e.c;
lab7: while (true) {
if (!r_i_plural(e, context)) {
break lab7;
}
break lab7;
}
e.c = e.l - v_7;
break lab5;
}
e.c = e.l - v_6;
let v_8 = e.l - e.c;
lab8: while (true) {
if (!r_t_plural(e, context)) {
break lab8;
}
break lab8;
}
e.c = e.l - v_8;
break lab5;
}
let v_9 = e.l - e.c;
lab9: while (true) {
if (!r_tidy(e, context)) {
break lab9;
}
break lab9;
}
e.c = e.l - v_9;
e.c = e.lb;
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
