// The stemmer is generated from github.com/blevesearch/snowballstem/german. Do not edit.

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

const LANGUAGE = { code: "de", stops: "aber alle als also am an auch auf aus bei bin bis bist da damit das dass dein dem den der des die dies diese dieser dieses doch dort du durch ein eine einem einen einer eines er es für gegen hat habe haben hier ich ihr im in ist ja jede jeder kann können man mein mich mir mit muss nach nicht noch nur oder ohne sehr sein sich sie sind so soll über um und uns unser unter vom von vor wann war warum was weil welche wenn wer werden wie wieder wir wird wo zu zum zur zwischen", weak: "", related: "", elides: false };

const stem = (() => {
const A_0 = [["",-1,6],["U",0,2],["Y",0,1],["\u00E4",0,3],["\u00F6",0,4],["\u00FC",0,5]];
const A_1 = [["e",-1,2],["em",-1,1],["en",-1,2],["ern",-1,1],["er",-1,1],["s",-1,3],["es",5,2]];
const A_2 = [["en",-1,1],["er",-1,1],["st",-1,2],["est",2,1]];
const A_3 = [["ig",-1,1],["lich",-1,1]];
const A_4 = [["end",-1,1],["ig",-1,2],["ung",-1,1],["lich",-1,3],["isch",-1,2],["ik",-1,2],["heit",-1,3],["keit",-1,4]];
const G_v = [17,65,16,1,0,0,0,0,0,0,0,0,0,0,0,0,8,0,32,8];
const G_s_ending = [117,30,5];
const G_st_ending = [117,30,4];
function r_prelude(e, context) {
let v_1 = e.c;
replab0: while (true) {
let v_2 = e.c;
lab1: for (let round = 0; round < 2; round++) {
lab2: while (true) {
let v_3 = e.c;
lab3: while (true) {
e.bra = e.c;
if (!e.eq("\u00DF")) {
break lab3;
}
e.ket = e.c;
if (!e.sliceFrom("ss")) {
return false;
}
break lab2;
}
e.c = v_3;
if (e.c >= e.l) {
break lab1;
}
e.next();
break lab2;
}
continue replab0;
}
e.c = v_2;
break replab0;
}
e.c = v_1;
replab4: while (true) {
let v_4 = e.c;
lab5: for (let round = 0; round < 2; round++) {
golab6: while (true) {
let v_5 = e.c;
lab7: while (true) {
if (!e.inGrouping(G_v, 97, 252)) {
break lab7;
}
e.bra = e.c;
lab8: while (true) {
let v_6 = e.c;
lab9: while (true) {
if (!e.eq("u")) {
break lab9;
}
e.ket = e.c;
if (!e.inGrouping(G_v, 97, 252)) {
break lab9;
}
if (!e.sliceFrom("U")) {
return false;
}
break lab8;
}
e.c = v_6;
if (!e.eq("y")) {
break lab7;
}
e.ket = e.c;
if (!e.inGrouping(G_v, 97, 252)) {
break lab7;
}
if (!e.sliceFrom("Y")) {
return false;
}
break lab8;
}
e.c = v_5;
break golab6;
}
e.c = v_5;
if (e.c >= e.l) {
break lab5;
}
e.next();
}
continue replab4;
}
e.c = v_4;
break replab4;
}
return true;
}
function r_mark_regions(e, context) {
context.i_p1 = e.l;
context.i_p2 = e.l;
let v_1 = e.c;
{
let c = e.hop((3));
if (0 > c || c > e.l) {
return false;
}
e.c = c;
}
context.i_x = e.c;
e.c = v_1;
golab0: while (true) {
lab1: while (true) {
if (!e.inGrouping(G_v, 97, 252)) {
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
if (!e.outGrouping(G_v, 97, 252)) {
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
if (!(context.i_p1 < context.i_x)) {
break lab4;
}
context.i_p1 = context.i_x;
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
return false;
}
e.next();
}
golab7: while (true) {
lab8: while (true) {
if (!e.outGrouping(G_v, 97, 252)) {
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
among_var = e.among(A_0, context);
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
if (!e.sliceFrom("u")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("a")) {
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
function r_standard_suffix(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
among_var = e.amongB(A_1, context);
if (among_var === 0) {
break lab0;
}
e.bra = e.c;
if (!r_R1(e, context)) {
break lab0;
}
if (among_var === 0) {
break lab0;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceDel()) {
return false;
}
let v_2 = e.l - e.c;
lab1: while (true) {
e.ket = e.c;
if (!e.eqB("s")) {
e.c = e.l - v_2;
break lab1;
}
e.bra = e.c;
if (!e.eqB("nis")) {
e.c = e.l - v_2;
break lab1;
}
if (!e.sliceDel()) {
return false;
}
break lab1;
}
} else if (among_var === 3) {
if (!e.inGroupingB(G_s_ending, 98, 116)) {
break lab0;
}
if (!e.sliceDel()) {
return false;
}
}
break lab0;
}
e.c = e.l - v_1;
let v_3 = e.l - e.c;
lab2: while (true) {
e.ket = e.c;
among_var = e.amongB(A_2, context);
if (among_var === 0) {
break lab2;
}
e.bra = e.c;
if (!r_R1(e, context)) {
break lab2;
}
if (among_var === 0) {
break lab2;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.inGroupingB(G_st_ending, 98, 116)) {
break lab2;
}
{
let c = e.hop(-(3));
if (e.lb > c || c > e.l) {
break lab2;
}
e.c = c;
}
if (!e.sliceDel()) {
return false;
}
}
break lab2;
}
e.c = e.l - v_3;
let v_4 = e.l - e.c;
lab3: while (true) {
e.ket = e.c;
among_var = e.amongB(A_4, context);
if (among_var === 0) {
break lab3;
}
e.bra = e.c;
if (!r_R2(e, context)) {
break lab3;
}
if (among_var === 0) {
break lab3;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
let v_5 = e.l - e.c;
lab4: while (true) {
e.ket = e.c;
if (!e.eqB("ig")) {
e.c = e.l - v_5;
break lab4;
}
e.bra = e.c;
let v_6 = e.l - e.c;
lab5: while (true) {
if (!e.eqB("e")) {
break lab5;
}
e.c = e.l - v_5;
break lab4;
}
e.c = e.l - v_6;
if (!r_R2(e, context)) {
e.c = e.l - v_5;
break lab4;
}
if (!e.sliceDel()) {
return false;
}
break lab4;
}
} else if (among_var === 2) {
let v_7 = e.l - e.c;
lab6: while (true) {
if (!e.eqB("e")) {
break lab6;
}
break lab3;
}
e.c = e.l - v_7;
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceDel()) {
return false;
}
let v_8 = e.l - e.c;
lab7: while (true) {
e.ket = e.c;
lab8: while (true) {
let v_9 = e.l - e.c;
lab9: while (true) {
if (!e.eqB("er")) {
break lab9;
}
break lab8;
}
e.c = e.l - v_9;
if (!e.eqB("en")) {
e.c = e.l - v_8;
break lab7;
}
break lab8;
}
e.bra = e.c;
if (!r_R1(e, context)) {
e.c = e.l - v_8;
break lab7;
}
if (!e.sliceDel()) {
return false;
}
break lab7;
}
} else if (among_var === 4) {
if (!e.sliceDel()) {
return false;
}
let v_10 = e.l - e.c;
lab10: while (true) {
e.ket = e.c;
among_var = e.amongB(A_3, context);
if (among_var === 0) {
e.c = e.l - v_10;
break lab10;
}
e.bra = e.c;
if (!r_R2(e, context)) {
e.c = e.l - v_10;
break lab10;
}
if (among_var === 0) {
e.c = e.l - v_10;
break lab10;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
}
break lab10;
}
}
break lab3;
}
e.c = e.l - v_4;
return true;
}
function Stem(e) {
let context = { i_x: 0, i_p2: 0, i_p1: 0 };
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
