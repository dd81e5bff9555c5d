// The stemmer is generated from github.com/blevesearch/snowballstem/hungarian. Do not edit.

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

const LANGUAGE = { code: "hu", stops: "a abban ahhoz aki akkor alatt amely ami amit az azok azt azért be csak de e egy egyik el elő én ez ezek ezt fel ha hanem hogy hogyan hol is itt ki kell le lehet lesz ma már meg melyik mely mert mi mint minden miért mit mi nagyon nem ne ő ott össze s sem sok szerint ti több úgy után vagy van vannak volt", weak: "", related: "", elides: false };

const stem = (() => {
const A_0 = [["cs",-1,-1],["dzs",-1,-1],["gy",-1,-1],["ly",-1,-1],["ny",-1,-1],["sz",-1,-1],["ty",-1,-1],["zs",-1,-1]];
const A_1 = [["\u00E1",-1,1],["\u00E9",-1,2]];
const A_2 = [["bb",-1,-1],["cc",-1,-1],["dd",-1,-1],["ff",-1,-1],["gg",-1,-1],["jj",-1,-1],["kk",-1,-1],["ll",-1,-1],["mm",-1,-1],["nn",-1,-1],["pp",-1,-1],["rr",-1,-1],["ccs",-1,-1],["ss",-1,-1],["zzs",-1,-1],["tt",-1,-1],["vv",-1,-1],["ggy",-1,-1],["lly",-1,-1],["nny",-1,-1],["tty",-1,-1],["ssz",-1,-1],["zz",-1,-1]];
const A_3 = [["al",-1,1],["el",-1,2]];
const A_4 = [["ba",-1,-1],["ra",-1,-1],["be",-1,-1],["re",-1,-1],["ig",-1,-1],["nak",-1,-1],["nek",-1,-1],["val",-1,-1],["vel",-1,-1],["ul",-1,-1],["b\u0151l",-1,-1],["r\u0151l",-1,-1],["t\u0151l",-1,-1],["n\u00E1l",-1,-1],["n\u00E9l",-1,-1],["b\u00F3l",-1,-1],["r\u00F3l",-1,-1],["t\u00F3l",-1,-1],["\u00FCl",-1,-1],["n",-1,-1],["an",19,-1],["ban",20,-1],["en",19,-1],["ben",22,-1],["k\u00E9ppen",22,-1],["on",19,-1],["\u00F6n",19,-1],["k\u00E9pp",-1,-1],["kor",-1,-1],["t",-1,-1],["at",29,-1],["et",29,-1],["k\u00E9nt",29,-1],["ank\u00E9nt",32,-1],["enk\u00E9nt",32,-1],["onk\u00E9nt",32,-1],["ot",29,-1],["\u00E9rt",29,-1],["\u00F6t",29,-1],["hez",-1,-1],["hoz",-1,-1],["h\u00F6z",-1,-1],["v\u00E1",-1,-1],["v\u00E9",-1,-1]];
const A_5 = [["\u00E1n",-1,2],["\u00E9n",-1,1],["\u00E1nk\u00E9nt",-1,3]];
const A_6 = [["stul",-1,2],["astul",0,1],["\u00E1stul",0,3],["st\u00FCl",-1,2],["est\u00FCl",3,1],["\u00E9st\u00FCl",3,4]];
const A_7 = [["\u00E1",-1,1],["\u00E9",-1,2]];
const A_8 = [["k",-1,7],["ak",0,4],["ek",0,6],["ok",0,5],["\u00E1k",0,1],["\u00E9k",0,2],["\u00F6k",0,3]];
const A_9 = [["\u00E9i",-1,7],["\u00E1\u00E9i",0,6],["\u00E9\u00E9i",0,5],["\u00E9",-1,9],["k\u00E9",3,4],["ak\u00E9",4,1],["ek\u00E9",4,1],["ok\u00E9",4,1],["\u00E1k\u00E9",4,3],["\u00E9k\u00E9",4,2],["\u00F6k\u00E9",4,1],["\u00E9\u00E9",3,8]];
const A_10 = [["a",-1,18],["ja",0,17],["d",-1,16],["ad",2,13],["ed",2,13],["od",2,13],["\u00E1d",2,14],["\u00E9d",2,15],["\u00F6d",2,13],["e",-1,18],["je",9,17],["nk",-1,4],["unk",11,1],["\u00E1nk",11,2],["\u00E9nk",11,3],["\u00FCnk",11,1],["uk",-1,8],["juk",16,7],["\u00E1juk",17,5],["\u00FCk",-1,8],["j\u00FCk",19,7],["\u00E9j\u00FCk",20,6],["m",-1,12],["am",22,9],["em",22,9],["om",22,9],["\u00E1m",22,10],["\u00E9m",22,11],["o",-1,18],["\u00E1",-1,19],["\u00E9",-1,20]];
const A_11 = [["id",-1,10],["aid",0,9],["jaid",1,6],["eid",0,9],["jeid",3,6],["\u00E1id",0,7],["\u00E9id",0,8],["i",-1,15],["ai",7,14],["jai",8,11],["ei",7,14],["jei",10,11],["\u00E1i",7,12],["\u00E9i",7,13],["itek",-1,24],["eitek",14,21],["jeitek",15,20],["\u00E9itek",14,23],["ik",-1,29],["aik",18,26],["jaik",19,25],["eik",18,26],["jeik",21,25],["\u00E1ik",18,27],["\u00E9ik",18,28],["ink",-1,20],["aink",25,17],["jaink",26,16],["eink",25,17],["jeink",28,16],["\u00E1ink",25,18],["\u00E9ink",25,19],["aitok",-1,21],["jaitok",32,20],["\u00E1itok",-1,22],["im",-1,5],["aim",35,4],["jaim",36,1],["eim",35,4],["jeim",38,1],["\u00E1im",35,2],["\u00E9im",35,3]];
const G_v = [17,65,16,0,0,0,0,0,0,0,0,0,0,0,0,0,1,17,36,10,0,0,0,0,0,0,0,0,0,0,1,0,0,0,1];
function r_mark_regions(e, context) {
context.i_p1 = e.l;
lab0: while (true) {
let v_1 = e.c;
lab1: while (true) {
if (!e.inGrouping(G_v, 97, 369)) {
break lab1;
}
golab2: while (true) {
let v_2 = e.c;
lab3: while (true) {
if (!e.outGrouping(G_v, 97, 369)) {
break lab3;
}
e.c = v_2;
break golab2;
}
e.c = v_2;
if (e.c >= e.l) {
break lab1;
}
e.next();
}
lab4: while (true) {
let v_3 = e.c;
lab5: while (true) {
if (e.among(A_0, context) === 0) {
break lab5;
}
break lab4;
}
e.c = v_3;
if (e.c >= e.l) {
break lab1;
}
e.next();
break lab4;
}
context.i_p1 = e.c;
break lab0;
}
e.c = v_1;
if (!e.outGrouping(G_v, 97, 369)) {
return false;
}
golab6: while (true) {
lab7: while (true) {
if (!e.inGrouping(G_v, 97, 369)) {
break lab7;
}
break golab6;
}
if (e.c >= e.l) {
return false;
}
e.next();
}
context.i_p1 = e.c;
break lab0;
}
return true;
}
function r_R1(e, context) {
if (!(context.i_p1 <= e.c)) {
return false;
}
return true;
}
function r_v_ending(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_1, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("e")) {
return false;
}
}
return true;
}
function r_double(e, context) {
let v_1 = e.l - e.c;
if (e.amongB(A_2, context) === 0) {
return false;
}
e.c = e.l - v_1;
return true;
}
function r_undouble(e, context) {
if (e.c <= e.lb) {
return false;
}
e.prev();
e.ket = e.c;
{
let c = e.hop(-(1));
if (e.lb > c || c > e.l) {
return false;
}
e.c = c;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
return true;
}
function r_instrum(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_3, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!r_double(e, context)) {
return false;
}
} else if (among_var === 2) {
if (!r_double(e, context)) {
return false;
}
}
if (!e.sliceDel()) {
return false;
}
if (!r_undouble(e, context)) {
return false;
}
return true;
}
function r_case(e, context) {
e.ket = e.c;
if (e.amongB(A_4, context) === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
if (!r_v_ending(e, context)) {
return false;
}
return true;
}
function r_case_special(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_5, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("a")) {
return false;
}
}
return true;
}
function r_case_other(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_6, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceFrom("e")) {
return false;
}
}
return true;
}
function r_factive(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_7, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!r_double(e, context)) {
return false;
}
} else if (among_var === 2) {
if (!r_double(e, context)) {
return false;
}
}
if (!e.sliceDel()) {
return false;
}
if (!r_undouble(e, context)) {
return false;
}
return true;
}
function r_plural(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_8, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 5) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 6) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 7) {
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_owned(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_9, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 5) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 6) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 7) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 8) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 9) {
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_sing_owner(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_10, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 5) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 6) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 7) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 8) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 9) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 10) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 11) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 12) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 13) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 14) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 15) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 16) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 17) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 18) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 19) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 20) {
if (!e.sliceFrom("e")) {
return false;
}
}
return true;
}
function r_plur_owner(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_11, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 5) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 6) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 7) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 8) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 9) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 10) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 11) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 12) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 13) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 14) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 15) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 16) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 17) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 18) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 19) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 20) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 21) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 22) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 23) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 24) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 25) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 26) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 27) {
if (!e.sliceFrom("a")) {
return false;
}
} else if (among_var === 28) {
if (!e.sliceFrom("e")) {
return false;
}
} else if (among_var === 29) {
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function Stem(e) {
let context = { i_p1: 0 };
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
if (!r_instrum(e, context)) {
break lab1;
}
break lab1;
}
e.c = e.l - v_2;
let v_3 = e.l - e.c;
lab2: while (true) {
if (!r_case(e, context)) {
break lab2;
}
break lab2;
}
e.c = e.l - v_3;
let v_4 = e.l - e.c;
lab3: while (true) {
if (!r_case_special(e, context)) {
break lab3;
}
break lab3;
}
e.c = e.l - v_4;
let v_5 = e.l - e.c;
lab4: while (true) {
if (!r_case_other(e, context)) {
break lab4;
}
break lab4;
}
e.c = e.l - v_5;
let v_6 = e.l - e.c;
lab5: while (true) {
if (!r_factive(e, context)) {
break lab5;
}
break lab5;
}
e.c = e.l - v_6;
let v_7 = e.l - e.c;
lab6: while (true) {
if (!r_owned(e, context)) {
break lab6;
}
break lab6;
}
e.c = e.l - v_7;
let v_8 = e.l - e.c;
lab7: while (true) {
if (!r_sing_owner(e, context)) {
break lab7;
}
break lab7;
}
e.c = e.l - v_8;
let v_9 = e.l - e.c;
lab8: while (true) {
if (!r_plur_owner(e, context)) {
break lab8;
}
break lab8;
}
e.c = e.l - v_9;
let v_10 = e.l - e.c;
lab9: while (true) {
if (!r_plural(e, context)) {
break lab9;
}
break lab9;
}
e.c = e.l - v_10;
e.c = e.lb;
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
