// The stemmer is generated from github.com/blevesearch/snowballstem/turkish. Do not edit.

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

const LANGUAGE = { code: "tr", stops: "ama ancak bana bazı belki ben beni benim bir biri birkaç biz bu buna bunu bunun çok çünkü da daha de defa diye eğer en gibi hangi hem hep hepsi her hiç için ile ise kadar ki kim mı mi mu mü nasıl ne neden nerede niye o olan olarak on ona onlar onu onun sanki şey siz sonra şu tüm ve veya ya yani", weak: "", related: "", elides: false };

const stem = (() => {
const A_0 = [["m",-1,-1],["n",-1,-1],["miz",-1,-1],["niz",-1,-1],["muz",-1,-1],["nuz",-1,-1],["m\u0131z",-1,-1],["n\u0131z",-1,-1],["m\u00FCz",-1,-1],["n\u00FCz",-1,-1]];
const A_1 = [["leri",-1,-1],["lar\u0131",-1,-1]];
const A_2 = [["ni",-1,-1],["nu",-1,-1],["n\u0131",-1,-1],["n\u00FC",-1,-1]];
const A_3 = [["in",-1,-1],["un",-1,-1],["\u0131n",-1,-1],["\u00FCn",-1,-1]];
const A_4 = [["a",-1,-1],["e",-1,-1]];
const A_5 = [["na",-1,-1],["ne",-1,-1]];
const A_6 = [["da",-1,-1],["ta",-1,-1],["de",-1,-1],["te",-1,-1]];
const A_7 = [["nda",-1,-1],["nde",-1,-1]];
const A_8 = [["dan",-1,-1],["tan",-1,-1],["den",-1,-1],["ten",-1,-1]];
const A_9 = [["ndan",-1,-1],["nden",-1,-1]];
const A_10 = [["la",-1,-1],["le",-1,-1]];
const A_11 = [["ca",-1,-1],["ce",-1,-1]];
const A_12 = [["im",-1,-1],["um",-1,-1],["\u0131m",-1,-1],["\u00FCm",-1,-1]];
const A_13 = [["sin",-1,-1],["sun",-1,-1],["s\u0131n",-1,-1],["s\u00FCn",-1,-1]];
const A_14 = [["iz",-1,-1],["uz",-1,-1],["\u0131z",-1,-1],["\u00FCz",-1,-1]];
const A_15 = [["siniz",-1,-1],["sunuz",-1,-1],["s\u0131n\u0131z",-1,-1],["s\u00FCn\u00FCz",-1,-1]];
const A_16 = [["lar",-1,-1],["ler",-1,-1]];
const A_17 = [["niz",-1,-1],["nuz",-1,-1],["n\u0131z",-1,-1],["n\u00FCz",-1,-1]];
const A_18 = [["dir",-1,-1],["tir",-1,-1],["dur",-1,-1],["tur",-1,-1],["d\u0131r",-1,-1],["t\u0131r",-1,-1],["d\u00FCr",-1,-1],["t\u00FCr",-1,-1]];
const A_19 = [["cas\u0131na",-1,-1],["cesine",-1,-1]];
const A_20 = [["di",-1,-1],["ti",-1,-1],["dik",-1,-1],["tik",-1,-1],["duk",-1,-1],["tuk",-1,-1],["d\u0131k",-1,-1],["t\u0131k",-1,-1],["d\u00FCk",-1,-1],["t\u00FCk",-1,-1],["dim",-1,-1],["tim",-1,-1],["dum",-1,-1],["tum",-1,-1],["d\u0131m",-1,-1],["t\u0131m",-1,-1],["d\u00FCm",-1,-1],["t\u00FCm",-1,-1],["din",-1,-1],["tin",-1,-1],["dun",-1,-1],["tun",-1,-1],["d\u0131n",-1,-1],["t\u0131n",-1,-1],["d\u00FCn",-1,-1],["t\u00FCn",-1,-1],["du",-1,-1],["tu",-1,-1],["d\u0131",-1,-1],["t\u0131",-1,-1],["d\u00FC",-1,-1],["t\u00FC",-1,-1]];
const A_21 = [["sa",-1,-1],["se",-1,-1],["sak",-1,-1],["sek",-1,-1],["sam",-1,-1],["sem",-1,-1],["san",-1,-1],["sen",-1,-1]];
const A_22 = [["mi\u015F",-1,-1],["mu\u015F",-1,-1],["m\u0131\u015F",-1,-1],["m\u00FC\u015F",-1,-1]];
const A_23 = [["b",-1,1],["c",-1,2],["d",-1,3],["\u011F",-1,4]];
const G_vowel = [17,65,16,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,32,8,0,0,0,0,0,0,1];
const G_U = [1,16,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,8,0,0,0,0,0,0,1];
const G_vowel1 = [1,64,16,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1];
const G_vowel2 = [17,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,130];
const G_vowel3 = [1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1];
const G_vowel4 = [17];
const G_vowel5 = [65];
const G_vowel6 = [65];
function r_check_vowel_harmony(e, context) {
let v_1 = e.l - e.c;
golab0: while (true) {
let v_2 = e.l - e.c;
lab1: while (true) {
if (!e.inGroupingB(G_vowel, 97, 305)) {
break lab1;
}
e.c = e.l - v_2;
break golab0;
}
e.c = e.l - v_2;
if (e.c <= e.lb) {
return false;
}
e.prev();
}
lab2: while (true) {
let v_3 = e.l - e.c;
lab3: while (true) {
if (!e.eqB("a")) {
break lab3;
}
golab4: while (true) {
let v_4 = e.l - e.c;
lab5: while (true) {
if (!e.inGroupingB(G_vowel1, 97, 305)) {
break lab5;
}
e.c = e.l - v_4;
break golab4;
}
e.c = e.l - v_4;
if (e.c <= e.lb) {
break lab3;
}
e.prev();
}
break lab2;
}
e.c = e.l - v_3;
lab6: while (true) {
if (!e.eqB("e")) {
break lab6;
}
golab7: while (true) {
let v_5 = e.l - e.c;
lab8: while (true) {
if (!e.inGroupingB(G_vowel2, 101, 252)) {
break lab8;
}
e.c = e.l - v_5;
break golab7;
}
e.c = e.l - v_5;
if (e.c <= e.lb) {
break lab6;
}
e.prev();
}
break lab2;
}
e.c = e.l - v_3;
lab9: while (true) {
if (!e.eqB("\u0131")) {
break lab9;
}
golab10: while (true) {
let v_6 = e.l - e.c;
lab11: while (true) {
if (!e.inGroupingB(G_vowel3, 97, 305)) {
break lab11;
}
e.c = e.l - v_6;
break golab10;
}
e.c = e.l - v_6;
if (e.c <= e.lb) {
break lab9;
}
e.prev();
}
break lab2;
}
e.c = e.l - v_3;
lab12: while (true) {
if (!e.eqB("i")) {
break lab12;
}
golab13: while (true) {
let v_7 = e.l - e.c;
lab14: while (true) {
if (!e.inGroupingB(G_vowel4, 101, 105)) {
break lab14;
}
e.c = e.l - v_7;
break golab13;
}
e.c = e.l - v_7;
if (e.c <= e.lb) {
break lab12;
}
e.prev();
}
break lab2;
}
e.c = e.l - v_3;
lab15: while (true) {
if (!e.eqB("o")) {
break lab15;
}
golab16: while (true) {
let v_8 = e.l - e.c;
lab17: while (true) {
if (!e.inGroupingB(G_vowel5, 111, 117)) {
break lab17;
}
e.c = e.l - v_8;
break golab16;
}
e.c = e.l - v_8;
if (e.c <= e.lb) {
break lab15;
}
e.prev();
}
break lab2;
}
e.c = e.l - v_3;
lab18: while (true) {
if (!e.eqB("\u00F6")) {
break lab18;
}
golab19: while (true) {
let v_9 = e.l - e.c;
lab20: while (true) {
if (!e.inGroupingB(G_vowel6, 246, 252)) {
break lab20;
}
e.c = e.l - v_9;
break golab19;
}
e.c = e.l - v_9;
if (e.c <= e.lb) {
break lab18;
}
e.prev();
}
break lab2;
}
e.c = e.l - v_3;
lab21: while (true) {
if (!e.eqB("u")) {
break lab21;
}
golab22: while (true) {
let v_10 = e.l - e.c;
lab23: while (true) {
if (!e.inGroupingB(G_vowel5, 111, 117)) {
break lab23;
}
e.c = e.l - v_10;
break golab22;
}
e.c = e.l - v_10;
if (e.c <= e.lb) {
break lab21;
}
e.prev();
}
break lab2;
}
e.c = e.l - v_3;
if (!e.eqB("\u00FC")) {
return false;
}
golab24: while (true) {
let v_11 = e.l - e.c;
lab25: while (true) {
if (!e.inGroupingB(G_vowel6, 246, 252)) {
break lab25;
}
e.c = e.l - v_11;
break golab24;
}
e.c = e.l - v_11;
if (e.c <= e.lb) {
return false;
}
e.prev();
}
break lab2;
}
e.c = e.l - v_1;
return true;
}
function r_mark_suffix_with_optional_n_consonant(e, context) {
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!e.eqB("n")) {
break lab1;
}
let v_2 = e.l - e.c;
if (!e.inGroupingB(G_vowel, 97, 305)) {
break lab1;
}
e.c = e.l - v_2;
break lab0;
}
e.c = e.l - v_1;
let v_3 = e.l - e.c;
lab2: while (true) {
let v_4 = e.l - e.c;
if (!e.eqB("n")) {
break lab2;
}
e.c = e.l - v_4;
return false;
}
e.c = e.l - v_3;
let v_5 = e.l - e.c;
if (e.c <= e.lb) {
return false;
}
e.prev();
if (!e.inGroupingB(G_vowel, 97, 305)) {
return false;
}
e.c = e.l - v_5;
break lab0;
}
return true;
}
function r_mark_suffix_with_optional_s_consonant(e, context) {
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!e.eqB("s")) {
break lab1;
}
let v_2 = e.l - e.c;
if (!e.inGroupingB(G_vowel, 97, 305)) {
break lab1;
}
e.c = e.l - v_2;
break lab0;
}
e.c = e.l - v_1;
let v_3 = e.l - e.c;
lab2: while (true) {
let v_4 = e.l - e.c;
if (!e.eqB("s")) {
break lab2;
}
e.c = e.l - v_4;
return false;
}
e.c = e.l - v_3;
let v_5 = e.l - e.c;
if (e.c <= e.lb) {
return false;
}
e.prev();
if (!e.inGroupingB(G_vowel, 97, 305)) {
return false;
}
e.c = e.l - v_5;
break lab0;
}
return true;
}
function r_mark_suffix_with_optional_y_consonant(e, context) {
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!e.eqB("y")) {
break lab1;
}
let v_2 = e.l - e.c;
if (!e.inGroupingB(G_vowel, 97, 305)) {
break lab1;
}
e.c = e.l - v_2;
break lab0;
}
e.c = e.l - v_1;
let v_3 = e.l - e.c;
lab2: while (true) {
let v_4 = e.l - e.c;
if (!e.eqB("y")) {
break lab2;
}
e.c = e.l - v_4;
return false;
}
e.c = e.l - v_3;
let v_5 = e.l - e.c;
if (e.c <= e.lb) {
return false;
}
e.prev();
if (!e.inGroupingB(G_vowel, 97, 305)) {
return false;
}
e.c = e.l - v_5;
break lab0;
}
return true;
}
function r_mark_suffix_with_optional_U_vowel(e, context) {
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!e.inGroupingB(G_U, 105, 305)) {
break lab1;
}
let v_2 = e.l - e.c;
if (!e.outGroupingB(G_vowel, 97, 305)) {
break lab1;
}
e.c = e.l - v_2;
break lab0;
}
e.c = e.l - v_1;
let v_3 = e.l - e.c;
lab2: while (true) {
let v_4 = e.l - e.c;
if (!e.inGroupingB(G_U, 105, 305)) {
break lab2;
}
e.c = e.l - v_4;
return false;
}
e.c = e.l - v_3;
let v_5 = e.l - e.c;
if (e.c <= e.lb) {
return false;
}
e.prev();
if (!e.outGroupingB(G_vowel, 97, 305)) {
return false;
}
e.c = e.l - v_5;
break lab0;
}
return true;
}
function r_mark_possessives(e, context) {
if (e.amongB(A_0, context) === 0) {
return false;
}
if (!r_mark_suffix_with_optional_U_vowel(e, context)) {
return false;
}
return true;
}
function r_mark_sU(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (!e.inGroupingB(G_U, 105, 305)) {
return false;
}
if (!r_mark_suffix_with_optional_s_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_lArI(e, context) {
if (e.amongB(A_1, context) === 0) {
return false;
}
return true;
}
function r_mark_yU(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (!e.inGroupingB(G_U, 105, 305)) {
return false;
}
if (!r_mark_suffix_with_optional_y_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_nU(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_2, context) === 0) {
return false;
}
return true;
}
function r_mark_nUn(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_3, context) === 0) {
return false;
}
if (!r_mark_suffix_with_optional_n_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_yA(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_4, context) === 0) {
return false;
}
if (!r_mark_suffix_with_optional_y_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_nA(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_5, context) === 0) {
return false;
}
return true;
}
function r_mark_DA(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_6, context) === 0) {
return false;
}
return true;
}
function r_mark_ndA(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_7, context) === 0) {
return false;
}
return true;
}
function r_mark_DAn(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_8, context) === 0) {
return false;
}
return true;
}
function r_mark_ndAn(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_9, context) === 0) {
return false;
}
return true;
}
function r_mark_ylA(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_10, context) === 0) {
return false;
}
if (!r_mark_suffix_with_optional_y_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_ki(e, context) {
if (!e.eqB("ki")) {
return false;
}
return true;
}
function r_mark_ncA(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_11, context) === 0) {
return false;
}
if (!r_mark_suffix_with_optional_n_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_yUm(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_12, context) === 0) {
return false;
}
if (!r_mark_suffix_with_optional_y_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_sUn(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_13, context) === 0) {
return false;
}
return true;
}
function r_mark_yUz(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_14, context) === 0) {
return false;
}
if (!r_mark_suffix_with_optional_y_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_sUnUz(e, context) {
if (e.amongB(A_15, context) === 0) {
return false;
}
return true;
}
function r_mark_lAr(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_16, context) === 0) {
return false;
}
return true;
}
function r_mark_nUz(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_17, context) === 0) {
return false;
}
return true;
}
function r_mark_DUr(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_18, context) === 0) {
return false;
}
return true;
}
function r_mark_cAsInA(e, context) {
if (e.amongB(A_19, context) === 0) {
return false;
}
return true;
}
function r_mark_yDU(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_20, context) === 0) {
return false;
}
if (!r_mark_suffix_with_optional_y_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_ysA(e, context) {
if (e.amongB(A_21, context) === 0) {
return false;
}
if (!r_mark_suffix_with_optional_y_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_ymUs_(e, context) {
if (!r_check_vowel_harmony(e, context)) {
return false;
}
if (e.amongB(A_22, context) === 0) {
return false;
}
if (!r_mark_suffix_with_optional_y_consonant(e, context)) {
return false;
}
return true;
}
function r_mark_yken(e, context) {
if (!e.eqB("ken")) {
return false;
}
if (!r_mark_suffix_with_optional_y_consonant(e, context)) {
return false;
}
return true;
}
function r_stem_nominal_verb_suffixes(e, context) {
e.ket = e.c;
context.b_continue_stemming_noun_suffixes = true;
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
lab2: while (true) {
let v_2 = e.l - e.c;
lab3: while (true) {
if (!r_mark_ymUs_(e, context)) {
break lab3;
}
break lab2;
}
e.c = e.l - v_2;
lab4: while (true) {
if (!r_mark_yDU(e, context)) {
break lab4;
}
break lab2;
}
e.c = e.l - v_2;
lab5: while (true) {
if (!r_mark_ysA(e, context)) {
break lab5;
}
break lab2;
}
e.c = e.l - v_2;
if (!r_mark_yken(e, context)) {
break lab1;
}
break lab2;
}
break lab0;
}
e.c = e.l - v_1;
lab6: while (true) {
if (!r_mark_cAsInA(e, context)) {
break lab6;
}
lab7: while (true) {
let v_3 = e.l - e.c;
lab8: while (true) {
if (!r_mark_sUnUz(e, context)) {
break lab8;
}
break lab7;
}
e.c = e.l - v_3;
lab9: while (true) {
if (!r_mark_lAr(e, context)) {
break lab9;
}
break lab7;
}
e.c = e.l - v_3;
lab10: while (true) {
if (!r_mark_yUm(e, context)) {
break lab10;
}
break lab7;
}
e.c = e.l - v_3;
lab11: while (true) {
if (!r_mark_sUn(e, context)) {
break lab11;
}
break lab7;
}
e.c = e.l - v_3;
lab12: while (true) {
if (!r_mark_yUz(e, context)) {
break lab12;
}
break lab7;
}
e.c = e.l - v_3;
break lab7;
}
if (!r_mark_ymUs_(e, context)) {
break lab6;
}
break lab0;
}
e.c = e.l - v_1;
lab13: while (true) {
if (!r_mark_lAr(e, context)) {
break lab13;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_4 = e.l - e.c;
lab14: while (true) {
e.ket = e.c;
lab15: while (true) {
let v_5 = e.l - e.c;
lab16: while (true) {
if (!r_mark_DUr(e, context)) {
break lab16;
}
break lab15;
}
e.c = e.l - v_5;
lab17: while (true) {
if (!r_mark_yDU(e, context)) {
break lab17;
}
break lab15;
}
e.c = e.l - v_5;
lab18: while (true) {
if (!r_mark_ysA(e, context)) {
break lab18;
}
break lab15;
}
e.c = e.l - v_5;
if (!r_mark_ymUs_(e, context)) {
e.c = e.l - v_4;
break lab14;
}
break lab15;
}
break lab14;
}
context.b_continue_stemming_noun_suffixes = false;
break lab0;
}
e.c = e.l - v_1;
lab19: while (true) {
if (!r_mark_nUz(e, context)) {
break lab19;
}
lab20: while (true) {
let v_6 = e.l - e.c;
lab21: while (true) {
if (!r_mark_yDU(e, context)) {
break lab21;
}
break lab20;
}
e.c = e.l - v_6;
if (!r_mark_ysA(e, context)) {
break lab19;
}
break lab20;
}
break lab0;
}
e.c = e.l - v_1;
lab22: while (true) {
lab23: while (true) {
let v_7 = e.l - e.c;
lab24: while (true) {
if (!r_mark_sUnUz(e, context)) {
break lab24;
}
break lab23;
}
e.c = e.l - v_7;
lab25: while (true) {
if (!r_mark_yUz(e, context)) {
break lab25;
}
break lab23;
}
e.c = e.l - v_7;
lab26: while (true) {
if (!r_mark_sUn(e, context)) {
break lab26;
}
break lab23;
}
e.c = e.l - v_7;
if (!r_mark_yUm(e, context)) {
break lab22;
}
break lab23;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_8 = e.l - e.c;
lab27: while (true) {
e.ket = e.c;
if (!r_mark_ymUs_(e, context)) {
e.c = e.l - v_8;
break lab27;
}
break lab27;
}
break lab0;
}
e.c = e.l - v_1;
if (!r_mark_DUr(e, context)) {
return false;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_9 = e.l - e.c;
lab28: while (true) {
e.ket = e.c;
lab29: while (true) {
let v_10 = e.l - e.c;
lab30: while (true) {
if (!r_mark_sUnUz(e, context)) {
break lab30;
}
break lab29;
}
e.c = e.l - v_10;
lab31: while (true) {
if (!r_mark_lAr(e, context)) {
break lab31;
}
break lab29;
}
e.c = e.l - v_10;
lab32: while (true) {
if (!r_mark_yUm(e, context)) {
break lab32;
}
break lab29;
}
e.c = e.l - v_10;
lab33: while (true) {
if (!r_mark_sUn(e, context)) {
break lab33;
}
break lab29;
}
e.c = e.l - v_10;
lab34: while (true) {
if (!r_mark_yUz(e, context)) {
break lab34;
}
break lab29;
}
e.c = e.l - v_10;
break lab29;
}
if (!r_mark_ymUs_(e, context)) {
e.c = e.l - v_9;
break lab28;
}
break lab28;
}
break lab0;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
return true;
}
function r_stem_suffix_chain_before_ki(e, context) {
e.ket = e.c;
if (!r_mark_ki(e, context)) {
return false;
}
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!r_mark_DA(e, context)) {
break lab1;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_2 = e.l - e.c;
lab2: while (true) {
e.ket = e.c;
lab3: while (true) {
let v_3 = e.l - e.c;
lab4: while (true) {
if (!r_mark_lAr(e, context)) {
break lab4;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_4 = e.l - e.c;
lab5: while (true) {
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_4;
break lab5;
}
break lab5;
}
break lab3;
}
e.c = e.l - v_3;
if (!r_mark_possessives(e, context)) {
e.c = e.l - v_2;
break lab2;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_5 = e.l - e.c;
lab6: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_5;
break lab6;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_5;
break lab6;
}
break lab6;
}
break lab3;
}
break lab2;
}
break lab0;
}
e.c = e.l - v_1;
lab7: while (true) {
if (!r_mark_nUn(e, context)) {
break lab7;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_6 = e.l - e.c;
lab8: while (true) {
e.ket = e.c;
lab9: while (true) {
let v_7 = e.l - e.c;
lab10: while (true) {
if (!r_mark_lArI(e, context)) {
break lab10;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
break lab9;
}
e.c = e.l - v_7;
lab11: while (true) {
e.ket = e.c;
lab12: while (true) {
let v_8 = e.l - e.c;
lab13: while (true) {
if (!r_mark_possessives(e, context)) {
break lab13;
}
break lab12;
}
e.c = e.l - v_8;
if (!r_mark_sU(e, context)) {
break lab11;
}
break lab12;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_9 = e.l - e.c;
lab14: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_9;
break lab14;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_9;
break lab14;
}
break lab14;
}
break lab9;
}
e.c = e.l - v_7;
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_6;
break lab8;
}
break lab9;
}
break lab8;
}
break lab0;
}
e.c = e.l - v_1;
if (!r_mark_ndA(e, context)) {
return false;
}
lab15: while (true) {
let v_10 = e.l - e.c;
lab16: while (true) {
if (!r_mark_lArI(e, context)) {
break lab16;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
break lab15;
}
e.c = e.l - v_10;
lab17: while (true) {
if (!r_mark_sU(e, context)) {
break lab17;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_11 = e.l - e.c;
lab18: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_11;
break lab18;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_11;
break lab18;
}
break lab18;
}
break lab15;
}
e.c = e.l - v_10;
if (!r_stem_suffix_chain_before_ki(e, context)) {
return false;
}
break lab15;
}
break lab0;
}
return true;
}
function r_stem_noun_suffixes(e, context) {
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
break lab1;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_2 = e.l - e.c;
lab2: while (true) {
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_2;
break lab2;
}
break lab2;
}
break lab0;
}
e.c = e.l - v_1;
lab3: while (true) {
e.ket = e.c;
if (!r_mark_ncA(e, context)) {
break lab3;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_3 = e.l - e.c;
lab4: while (true) {
lab5: while (true) {
let v_4 = e.l - e.c;
lab6: while (true) {
e.ket = e.c;
if (!r_mark_lArI(e, context)) {
break lab6;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
break lab5;
}
e.c = e.l - v_4;
lab7: while (true) {
e.ket = e.c;
lab8: while (true) {
let v_5 = e.l - e.c;
lab9: while (true) {
if (!r_mark_possessives(e, context)) {
break lab9;
}
break lab8;
}
e.c = e.l - v_5;
if (!r_mark_sU(e, context)) {
break lab7;
}
break lab8;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_6 = e.l - e.c;
lab10: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_6;
break lab10;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_6;
break lab10;
}
break lab10;
}
break lab5;
}
e.c = e.l - v_4;
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_3;
break lab4;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_3;
break lab4;
}
break lab5;
}
break lab4;
}
break lab0;
}
e.c = e.l - v_1;
lab11: while (true) {
e.ket = e.c;
lab12: while (true) {
let v_7 = e.l - e.c;
lab13: while (true) {
if (!r_mark_ndA(e, context)) {
break lab13;
}
break lab12;
}
e.c = e.l - v_7;
if (!r_mark_nA(e, context)) {
break lab11;
}
break lab12;
}
lab14: while (true) {
let v_8 = e.l - e.c;
lab15: while (true) {
if (!r_mark_lArI(e, context)) {
break lab15;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
break lab14;
}
e.c = e.l - v_8;
lab16: while (true) {
if (!r_mark_sU(e, context)) {
break lab16;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_9 = e.l - e.c;
lab17: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_9;
break lab17;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_9;
break lab17;
}
break lab17;
}
break lab14;
}
e.c = e.l - v_8;
if (!r_stem_suffix_chain_before_ki(e, context)) {
break lab11;
}
break lab14;
}
break lab0;
}
e.c = e.l - v_1;
lab18: while (true) {
e.ket = e.c;
lab19: while (true) {
let v_10 = e.l - e.c;
lab20: while (true) {
if (!r_mark_ndAn(e, context)) {
break lab20;
}
break lab19;
}
e.c = e.l - v_10;
if (!r_mark_nU(e, context)) {
break lab18;
}
break lab19;
}
lab21: while (true) {
let v_11 = e.l - e.c;
lab22: while (true) {
if (!r_mark_sU(e, context)) {
break lab22;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_12 = e.l - e.c;
lab23: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_12;
break lab23;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_12;
break lab23;
}
break lab23;
}
break lab21;
}
e.c = e.l - v_11;
if (!r_mark_lArI(e, context)) {
break lab18;
}
break lab21;
}
break lab0;
}
e.c = e.l - v_1;
lab24: while (true) {
e.ket = e.c;
if (!r_mark_DAn(e, context)) {
break lab24;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_13 = e.l - e.c;
lab25: while (true) {
e.ket = e.c;
lab26: while (true) {
let v_14 = e.l - e.c;
lab27: while (true) {
if (!r_mark_possessives(e, context)) {
break lab27;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_15 = e.l - e.c;
lab28: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_15;
break lab28;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_15;
break lab28;
}
break lab28;
}
break lab26;
}
e.c = e.l - v_14;
lab29: while (true) {
if (!r_mark_lAr(e, context)) {
break lab29;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_16 = e.l - e.c;
lab30: while (true) {
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_16;
break lab30;
}
break lab30;
}
break lab26;
}
e.c = e.l - v_14;
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_13;
break lab25;
}
break lab26;
}
break lab25;
}
break lab0;
}
e.c = e.l - v_1;
lab31: while (true) {
e.ket = e.c;
lab32: while (true) {
let v_17 = e.l - e.c;
lab33: while (true) {
if (!r_mark_nUn(e, context)) {
break lab33;
}
break lab32;
}
e.c = e.l - v_17;
if (!r_mark_ylA(e, context)) {
break lab31;
}
break lab32;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_18 = e.l - e.c;
lab34: while (true) {
lab35: while (true) {
let v_19 = e.l - e.c;
lab36: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
break lab36;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
break lab36;
}
break lab35;
}
e.c = e.l - v_19;
lab37: while (true) {
e.ket = e.c;
lab38: while (true) {
let v_20 = e.l - e.c;
lab39: while (true) {
if (!r_mark_possessives(e, context)) {
break lab39;
}
break lab38;
}
e.c = e.l - v_20;
if (!r_mark_sU(e, context)) {
break lab37;
}
break lab38;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_21 = e.l - e.c;
lab40: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_21;
break lab40;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_21;
break lab40;
}
break lab40;
}
break lab35;
}
e.c = e.l - v_19;
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_18;
break lab34;
}
break lab35;
}
break lab34;
}
break lab0;
}
e.c = e.l - v_1;
lab41: while (true) {
e.ket = e.c;
if (!r_mark_lArI(e, context)) {
break lab41;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
break lab0;
}
e.c = e.l - v_1;
lab42: while (true) {
if (!r_stem_suffix_chain_before_ki(e, context)) {
break lab42;
}
break lab0;
}
e.c = e.l - v_1;
lab43: while (true) {
e.ket = e.c;
lab44: while (true) {
let v_22 = e.l - e.c;
lab45: while (true) {
if (!r_mark_DA(e, context)) {
break lab45;
}
break lab44;
}
e.c = e.l - v_22;
lab46: while (true) {
if (!r_mark_yU(e, context)) {
break lab46;
}
break lab44;
}
e.c = e.l - v_22;
if (!r_mark_yA(e, context)) {
break lab43;
}
break lab44;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_23 = e.l - e.c;
lab47: while (true) {
e.ket = e.c;
lab48: while (true) {
let v_24 = e.l - e.c;
lab49: while (true) {
if (!r_mark_possessives(e, context)) {
break lab49;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_25 = e.l - e.c;
lab50: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_25;
break lab50;
}
break lab50;
}
break lab48;
}
e.c = e.l - v_24;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_23;
break lab47;
}
break lab48;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
e.ket = e.c;
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_23;
break lab47;
}
break lab47;
}
break lab0;
}
e.c = e.l - v_1;
e.ket = e.c;
lab51: while (true) {
let v_26 = e.l - e.c;
lab52: while (true) {
if (!r_mark_possessives(e, context)) {
break lab52;
}
break lab51;
}
e.c = e.l - v_26;
if (!r_mark_sU(e, context)) {
return false;
}
break lab51;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
let v_27 = e.l - e.c;
lab53: while (true) {
e.ket = e.c;
if (!r_mark_lAr(e, context)) {
e.c = e.l - v_27;
break lab53;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
if (!r_stem_suffix_chain_before_ki(e, context)) {
e.c = e.l - v_27;
break lab53;
}
break lab53;
}
break lab0;
}
return true;
}
function r_post_process_last_consonants(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_23, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceFrom("p")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("\u00E7")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("t")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceFrom("k")) {
return false;
}
}
return true;
}
function r_append_U_to_stems_ending_with_d_or_g(e, context) {
let v_1 = e.l - e.c;
lab0: while (true) {
let v_2 = e.l - e.c;
lab1: while (true) {
if (!e.eqB("d")) {
break lab1;
}
break lab0;
}
e.c = e.l - v_2;
if (!e.eqB("g")) {
return false;
}
break lab0;
}
e.c = e.l - v_1;
lab2: while (true) {
let v_3 = e.l - e.c;
lab3: while (true) {
let v_4 = e.l - e.c;
golab4: while (true) {
let v_5 = e.l - e.c;
lab5: while (true) {
if (!e.inGroupingB(G_vowel, 97, 305)) {
break lab5;
}
e.c = e.l - v_5;
break golab4;
}
e.c = e.l - v_5;
if (e.c <= e.lb) {
break lab3;
}
e.prev();
}
lab6: while (true) {
let v_6 = e.l - e.c;
lab7: while (true) {
if (!e.eqB("a")) {
break lab7;
}
break lab6;
}
e.c = e.l - v_6;
if (!e.eqB("\u0131")) {
break lab3;
}
break lab6;
}
e.c = e.l - v_4;
{
let c = e.c;
let bra = e.c;
let ket = e.c;
e.insert(bra, ket, "\u0131");
e.c = c;
}
break lab2;
}
e.c = e.l - v_3;
lab8: while (true) {
let v_7 = e.l - e.c;
golab9: while (true) {
let v_8 = e.l - e.c;
lab10: while (true) {
if (!e.inGroupingB(G_vowel, 97, 305)) {
break lab10;
}
e.c = e.l - v_8;
break golab9;
}
e.c = e.l - v_8;
if (e.c <= e.lb) {
break lab8;
}
e.prev();
}
lab11: while (true) {
let v_9 = e.l - e.c;
lab12: while (true) {
if (!e.eqB("e")) {
break lab12;
}
break lab11;
}
e.c = e.l - v_9;
if (!e.eqB("i")) {
break lab8;
}
break lab11;
}
e.c = e.l - v_7;
{
let c = e.c;
let bra = e.c;
let ket = e.c;
e.insert(bra, ket, "i");
e.c = c;
}
break lab2;
}
e.c = e.l - v_3;
lab13: while (true) {
let v_10 = e.l - e.c;
golab14: while (true) {
let v_11 = e.l - e.c;
lab15: while (true) {
if (!e.inGroupingB(G_vowel, 97, 305)) {
break lab15;
}
e.c = e.l - v_11;
break golab14;
}
e.c = e.l - v_11;
if (e.c <= e.lb) {
break lab13;
}
e.prev();
}
lab16: while (true) {
let v_12 = e.l - e.c;
lab17: while (true) {
if (!e.eqB("o")) {
break lab17;
}
break lab16;
}
e.c = e.l - v_12;
if (!e.eqB("u")) {
break lab13;
}
break lab16;
}
e.c = e.l - v_10;
{
let c = e.c;
let bra = e.c;
let ket = e.c;
e.insert(bra, ket, "u");
e.c = c;
}
break lab2;
}
e.c = e.l - v_3;
let v_13 = e.l - e.c;
golab18: while (true) {
let v_14 = e.l - e.c;
lab19: while (true) {
if (!e.inGroupingB(G_vowel, 97, 305)) {
break lab19;
}
e.c = e.l - v_14;
break golab18;
}
e.c = e.l - v_14;
if (e.c <= e.lb) {
return false;
}
e.prev();
}
lab20: while (true) {
let v_15 = e.l - e.c;
lab21: while (true) {
if (!e.eqB("\u00F6")) {
break lab21;
}
break lab20;
}
e.c = e.l - v_15;
if (!e.eqB("\u00FC")) {
return false;
}
break lab20;
}
e.c = e.l - v_13;
{
let c = e.c;
let bra = e.c;
let ket = e.c;
e.insert(bra, ket, "\u00FC");
e.c = c;
}
break lab2;
}
return true;
}
function r_more_than_one_syllable_word(e, context) {
let v_1 = e.c;
let v_2 = 2;
replab0: while (true) {
let v_3 = e.c;
lab1: for (let round = 0; round < 2; round++) {
golab2: while (true) {
lab3: while (true) {
if (!e.inGrouping(G_vowel, 97, 305)) {
break lab3;
}
break golab2;
}
if (e.c >= e.l) {
break lab1;
}
e.next();
}
v_2--;
continue replab0;
}
e.c = v_3;
break replab0;
}
if (v_2 > 0) {
return false;
}
e.c = v_1;
return true;
}
function r_is_reserved_word(e, context) {
lab0: while (true) {
let v_1 = e.c;
lab1: while (true) {
let v_2 = e.c;
golab2: while (true) {
lab3: while (true) {
if (!e.eq("ad")) {
break lab3;
}
break golab2;
}
if (e.c >= e.l) {
break lab1;
}
e.next();
}
context.i_strlen = 2;
if (!(context.i_strlen === e.l)) {
break lab1;
}
e.c = v_2;
break lab0;
}
e.c = v_1;
let v_4 = e.c;
golab4: while (true) {
lab5: while (true) {
if (!e.eq("soyad")) {
break lab5;
}
break golab4;
}
if (e.c >= e.l) {
return false;
}
e.next();
}
context.i_strlen = 5;
if (!(context.i_strlen === e.l)) {
return false;
}
e.c = v_4;
break lab0;
}
return true;
}
function r_postlude(e, context) {
let v_1 = e.c;
lab0: while (true) {
if (!r_is_reserved_word(e, context)) {
break lab0;
}
return false;
}
e.c = v_1;
e.lb = e.c;
e.c = e.l;
let v_2 = e.l - e.c;
lab1: while (true) {
if (!r_append_U_to_stems_ending_with_d_or_g(e, context)) {
break lab1;
}
break lab1;
}
e.c = e.l - v_2;
let v_3 = e.l - e.c;
lab2: while (true) {
if (!r_post_process_last_consonants(e, context)) {
break lab2;
}
break lab2;
}
e.c = e.l - v_3;
e.c = e.lb;
return true;
}
function Stem(e) {
let context = { b_continue_stemming_noun_suffixes: false, i_strlen: 0 };
if (!r_more_than_one_syllable_word(e, context)) {
return false;
}
e.lb = e.c;
e.c = e.l;
let v_1 = e.l - e.c;
lab0: while (true) {
if (!r_stem_nominal_verb_suffixes(e, context)) {
break lab0;
}
break lab0;
}
e.c = e.l - v_1;
if (!context.b_continue_stemming_noun_suffixes) {
return false;
}
let v_2 = e.l - e.c;
lab1: while (true) {
if (!r_stem_noun_suffixes(e, context)) {
break lab1;
}
break lab1;
}
e.c = e.l - v_2;
e.c = e.lb;
if (!r_postlude(e, context)) {
return false;
}
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
