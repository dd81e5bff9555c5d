// The stemmer is generated from github.com/blevesearch/snowballstem/dutch. Do not edit.

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

const LANGUAGE = { code: "nl", stops: "aan al alle als bij dan dat de deze die dit doen door een en er geen haar had hebben heeft het hier hij hoe ik in is je kan kunnen maar me meer met mij mijn moet na naar niet nog nu of om omdat ons ook op over te tegen toen tot u uit uw van veel voor waar waarom want waren was wat we welke wel werd wie wij worden wordt zal ze zich zij zijn zo zonder zou", weak: "", related: "", elides: false };

const stem = (() => {
const A_0 = [["",-1,6],["\u00E1",0,1],["\u00E4",0,1],["\u00E9",0,2],["\u00EB",0,2],["\u00ED",0,3],["\u00EF",0,3],["\u00F3",0,4],["\u00F6",0,4],["\u00FA",0,5],["\u00FC",0,5]];
const A_1 = [["",-1,3],["I",0,2],["Y",0,1]];
const A_2 = [["dd",-1,-1],["kk",-1,-1],["tt",-1,-1]];
const A_3 = [["ene",-1,2],["se",-1,3],["en",-1,2],["heden",2,1],["s",-1,3]];
const A_4 = [["end",-1,1],["ig",-1,2],["ing",-1,1],["lijk",-1,3],["baar",-1,4],["bar",-1,5]];
const A_5 = [["aa",-1,-1],["ee",-1,-1],["oo",-1,-1],["uu",-1,-1]];
const G_v = [17,65,16,1,0,0,0,0,0,0,0,0,0,0,0,0,128];
const G_v_I = [1,0,0,17,65,16,1,0,0,0,0,0,0,0,0,0,0,0,0,128];
const G_v_j = [17,67,16,1,0,0,0,0,0,0,0,0,0,0,0,0,128];
function r_prelude(e, context) {
let among_var = 0;
let v_1 = e.c;
replab0: while (true) {
let v_2 = e.c;
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
e.c = v_2;
break replab0;
}
e.c = v_1;
let v_3 = e.c;
lab2: while (true) {
e.bra = e.c;
if (!e.eq("y")) {
e.c = v_3;
break lab2;
}
e.ket = e.c;
if (!e.sliceFrom("Y")) {
return false;
}
break lab2;
}
replab3: while (true) {
let v_4 = e.c;
lab4: for (let round = 0; round < 2; round++) {
golab5: while (true) {
let v_5 = e.c;
lab6: while (true) {
if (!e.inGrouping(G_v, 97, 232)) {
break lab6;
}
e.bra = e.c;
lab7: while (true) {
let v_6 = e.c;
lab8: while (true) {
if (!e.eq("i")) {
break lab8;
}
e.ket = e.c;
if (!e.inGrouping(G_v, 97, 232)) {
break lab8;
}
if (!e.sliceFrom("I")) {
return false;
}
break lab7;
}
e.c = v_6;
if (!e.eq("y")) {
break lab6;
}
e.ket = e.c;
if (!e.sliceFrom("Y")) {
return false;
}
break lab7;
}
e.c = v_5;
break golab5;
}
e.c = v_5;
if (e.c >= e.l) {
break lab4;
}
e.next();
}
continue replab3;
}
e.c = v_4;
break replab3;
}
return true;
}
function r_mark_regions(e, context) {
context.i_p1 = e.l;
context.i_p2 = e.l;
golab0: while (true) {
lab1: while (true) {
if (!e.inGrouping(G_v, 97, 232)) {
break lab1;
}
break golab0;
}
if (e.c >= e.l) {
return false;
}
e.next();
}
golab2: while (true) {
lab3: while (true) {
if (!e.outGrouping(G_v, 97, 232)) {
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
lab4: while (true) {
if (!(context.i_p1 < 3)) {
break lab4;
}
context.i_p1 = 3;
break lab4;
}
golab5: while (true) {
lab6: while (true) {
if (!e.inGrouping(G_v, 97, 232)) {
break lab6;
}
break golab5;
}
if (e.c >= e.l) {
return false;
}
e.next();
}
golab7: while (true) {
lab8: while (true) {
if (!e.outGrouping(G_v, 97, 232)) {
break lab8;
}
break golab7;
}
if (e.c >= e.l) {
return false;
}
e.next();
}
context.i_p2 = e.c;
return true;
}
function r_postlude(e, context) {
let among_var = 0;
replab0: while (true) {
let v_1 = e.c;
lab1: for (let round = 0; round < 2; round++) {
e.bra = e.c;
among_var = e.among(A_1, context);
if (among_var === 0) {
break lab1;
}
e.ket = e.c;
if (among_var === 0) {
break lab1;
} else if (among_var === 1) {
if (!e.sliceFrom("y")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("i")) {
return false;
}
} else if (among_var === 3) {
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
function r_undouble(e, context) {
let v_1 = e.l - e.c;
if (e.amongB(A_2, context) === 0) {
return false;
}
e.c = e.l - v_1;
e.ket = e.c;
if (e.c <= e.lb) {
return false;
}
e.prev();
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
return true;
}
function r_e_ending(e, context) {
context.b_e_found = false;
e.ket = e.c;
if (!e.eqB("e")) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
let v_1 = e.l - e.c;
if (!e.outGroupingB(G_v, 97, 232)) {
return false;
}
e.c = e.l - v_1;
if (!e.sliceDel()) {
return false;
}
context.b_e_found = true;
if (!r_undouble(e, context)) {
return false;
}
return true;
}
function r_en_ending(e, context) {
if (!r_R1(e, context)) {
return false;
}
let v_1 = e.l - e.c;
if (!e.outGroupingB(G_v, 97, 232)) {
return false;
}
e.c = e.l - v_1;
let v_2 = e.l - e.c;
lab0: while (true) {
if (!e.eqB("gem")) {
break lab0;
}
return false;
}
e.c = e.l - v_2;
if (!e.sliceDel()) {
return false;
}
if (!r_undouble(e, context)) {
return false;
}
return true;
}
function r_standard_suffix(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
among_var = e.amongB(A_3, context);
if (among_var === 0) {
break lab0;
}
e.bra = e.c;
if (among_var === 0) {
break lab0;
} else if (among_var === 1) {
if (!r_R1(e, context)) {
break lab0;
}
if (!e.sliceFrom("heid")) {
return false;
}
} else if (among_var === 2) {
if (!r_en_ending(e, context)) {
break lab0;
}
} else if (among_var === 3) {
if (!r_R1(e, context)) {
break lab0;
}
if (!e.outGroupingB(G_v_j, 97, 232)) {
break lab0;
}
if (!e.sliceDel()) {
return false;
}
}
break lab0;
}
e.c = e.l - v_1;
let v_2 = e.l - e.c;
lab1: while (true) {
if (!r_e_ending(e, context)) {
break lab1;
}
break lab1;
}
e.c = e.l - v_2;
let v_3 = e.l - e.c;
lab2: while (true) {
e.ket = e.c;
if (!e.eqB("heid")) {
break lab2;
}
e.bra = e.c;
if (!r_R2(e, context)) {
break lab2;
}
let v_4 = e.l - e.c;
lab3: while (true) {
if (!e.eqB("c")) {
break lab3;
}
break lab2;
}
e.c = e.l - v_4;
if (!e.sliceDel()) {
return false;
}
e.ket = e.c;
if (!e.eqB("en")) {
break lab2;
}
e.bra = e.c;
if (!r_en_ending(e, context)) {
break lab2;
}
break lab2;
}
e.c = e.l - v_3;
let v_5 = e.l - e.c;
lab4: while (true) {
e.ket = e.c;
among_var = e.amongB(A_4, context);
if (among_var === 0) {
break lab4;
}
e.bra = e.c;
if (among_var === 0) {
break lab4;
} else if (among_var === 1) {
if (!r_R2(e, context)) {
break lab4;
}
if (!e.sliceDel()) {
return false;
}
lab5: while (true) {
let v_6 = e.l - e.c;
lab6: while (true) {
e.ket = e.c;
if (!e.eqB("ig")) {
break lab6;
}
e.bra = e.c;
if (!r_R2(e, context)) {
break lab6;
}
let v_7 = e.l - e.c;
lab7: while (true) {
if (!e.eqB("e")) {
break lab7;
}
break lab6;
}
e.c = e.l - v_7;
if (!e.sliceDel()) {
return false;
}
break lab5;
}
e.c = e.l - v_6;
if (!r_undouble(e, context)) {
break lab4;
}
break lab5;
}
} else if (among_var === 2) {
if (!r_R2(e, context)) {
break lab4;
}
let v_8 = e.l - e.c;
lab8: while (true) {
if (!e.eqB("e")) {
break lab8;
}
break lab4;
}
e.c = e.l - v_8;
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 3) {
if (!r_R2(e, context)) {
break lab4;
}
if (!e.sliceDel()) {
return false;
}
if (!r_e_ending(e, context)) {
break lab4;
}
} else if (among_var === 4) {
if (!r_R2(e, context)) {
break lab4;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 5) {
if (!r_R2(e, context)) {
break lab4;
}
if (!context.b_e_found) {
break lab4;
}
if (!e.sliceDel()) {
return false;
}
}
break lab4;
}
e.c = e.l - v_5;
let v_9 = e.l - e.c;
lab9: while (true) {
if (!e.outGroupingB(G_v_I, 73, 232)) {
break lab9;
}
let v_10 = e.l - e.c;
if (e.amongB(A_5, context) === 0) {
break lab9;
}
if (!e.outGroupingB(G_v, 97, 232)) {
break lab9;
}
e.c = e.l - v_10;
e.ket = e.c;
if (e.c <= e.lb) {
break lab9;
}
e.prev();
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
break lab9;
}
e.c = e.l - v_9;
return true;
}
function Stem(e) {
let context = { i_p2: 0, i_p1: 0, b_e_found: false };
let v_1 = e.c;
lab0: while (true) {
if (!r_prelude(e, context)) {
break lab0;
}
break lab0;
}
e.c = v_1;
let v_2 = e.c;
lab1: while (true) {
if (!r_mark_regions(e, context)) {
break lab1;
}
break lab1;
}
e.c = v_2;
e.lb = e.c;
e.c = e.l;
let v_3 = e.l - e.c;
lab2: while (true) {
if (!r_standard_suffix(e, context)) {
break lab2;
}
break lab2;
}
e.c = e.l - v_3;
e.c = e.lb;
let v_4 = e.c;
lab3: while (true) {
if (!r_postlude(e, context)) {
break lab3;
}
break lab3;
}
e.c = v_4;
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
