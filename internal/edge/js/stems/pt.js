// The stemmer is generated from github.com/blevesearch/snowballstem/portuguese. Do not edit.

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

const LANGUAGE = { code: "pt", stops: "a ao aos as até com como da das de dela dele do dos e é ela elas ele eles em entre era essa esse esta está este eu foi há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos nós o onde os ou para pela pelo pode por porque posso qual quando que quem são se sem ser seu seus sua suas também te tem teu tu um uma você", weak: "", related: "", elides: false };

const stem = (() => {
const A_0 = [["",-1,3],["\u00E3",0,1],["\u00F5",0,2]];
const A_1 = [["",-1,3],["a~",0,1],["o~",0,2]];
const A_2 = [["ic",-1,-1],["ad",-1,-1],["os",-1,-1],["iv",-1,1]];
const A_3 = [["ante",-1,1],["avel",-1,1],["\u00EDvel",-1,1]];
const A_4 = [["ic",-1,1],["abil",-1,1],["iv",-1,1]];
const A_5 = [["ica",-1,1],["\u00E2ncia",-1,1],["\u00EAncia",-1,4],["logia",-1,2],["ira",-1,9],["adora",-1,1],["osa",-1,1],["ista",-1,1],["iva",-1,8],["eza",-1,1],["idade",-1,7],["ante",-1,1],["mente",-1,6],["amente",12,5],["\u00E1vel",-1,1],["\u00EDvel",-1,1],["ico",-1,1],["ismo",-1,1],["oso",-1,1],["amento",-1,1],["imento",-1,1],["ivo",-1,8],["a\u00E7a~o",-1,1],["u\u00E7a~o",-1,3],["ador",-1,1],["icas",-1,1],["\u00EAncias",-1,4],["logias",-1,2],["iras",-1,9],["adoras",-1,1],["osas",-1,1],["istas",-1,1],["ivas",-1,8],["ezas",-1,1],["idades",-1,7],["adores",-1,1],["antes",-1,1],["a\u00E7o~es",-1,1],["u\u00E7o~es",-1,3],["icos",-1,1],["ismos",-1,1],["osos",-1,1],["amentos",-1,1],["imentos",-1,1],["ivos",-1,8]];
const A_6 = [["ada",-1,1],["ida",-1,1],["ia",-1,1],["aria",2,1],["eria",2,1],["iria",2,1],["ara",-1,1],["era",-1,1],["ira",-1,1],["ava",-1,1],["asse",-1,1],["esse",-1,1],["isse",-1,1],["aste",-1,1],["este",-1,1],["iste",-1,1],["ei",-1,1],["arei",16,1],["erei",16,1],["irei",16,1],["am",-1,1],["iam",20,1],["ariam",21,1],["eriam",21,1],["iriam",21,1],["aram",20,1],["eram",20,1],["iram",20,1],["avam",20,1],["em",-1,1],["arem",29,1],["erem",29,1],["irem",29,1],["assem",29,1],["essem",29,1],["issem",29,1],["ado",-1,1],["ido",-1,1],["ando",-1,1],["endo",-1,1],["indo",-1,1],["ara~o",-1,1],["era~o",-1,1],["ira~o",-1,1],["ar",-1,1],["er",-1,1],["ir",-1,1],["as",-1,1],["adas",47,1],["idas",47,1],["ias",47,1],["arias",50,1],["erias",50,1],["irias",50,1],["aras",47,1],["eras",47,1],["iras",47,1],["avas",47,1],["es",-1,1],["ardes",58,1],["erdes",58,1],["irdes",58,1],["ares",58,1],["eres",58,1],["ires",58,1],["asses",58,1],["esses",58,1],["isses",58,1],["astes",58,1],["estes",58,1],["istes",58,1],["is",-1,1],["ais",71,1],["eis",71,1],["areis",73,1],["ereis",73,1],["ireis",73,1],["\u00E1reis",73,1],["\u00E9reis",73,1],["\u00EDreis",73,1],["\u00E1sseis",73,1],["\u00E9sseis",73,1],["\u00EDsseis",73,1],["\u00E1veis",73,1],["\u00EDeis",73,1],["ar\u00EDeis",84,1],["er\u00EDeis",84,1],["ir\u00EDeis",84,1],["ados",-1,1],["idos",-1,1],["amos",-1,1],["\u00E1ramos",90,1],["\u00E9ramos",90,1],["\u00EDramos",90,1],["\u00E1vamos",90,1],["\u00EDamos",90,1],["ar\u00EDamos",95,1],["er\u00EDamos",95,1],["ir\u00EDamos",95,1],["emos",-1,1],["aremos",99,1],["eremos",99,1],["iremos",99,1],["\u00E1ssemos",99,1],["\u00EAssemos",99,1],["\u00EDssemos",99,1],["imos",-1,1],["armos",-1,1],["ermos",-1,1],["irmos",-1,1],["\u00E1mos",-1,1],["ar\u00E1s",-1,1],["er\u00E1s",-1,1],["ir\u00E1s",-1,1],["eu",-1,1],["iu",-1,1],["ou",-1,1],["ar\u00E1",-1,1],["er\u00E1",-1,1],["ir\u00E1",-1,1]];
const A_7 = [["a",-1,1],["i",-1,1],["o",-1,1],["os",-1,1],["\u00E1",-1,1],["\u00ED",-1,1],["\u00F3",-1,1]];
const A_8 = [["e",-1,1],["\u00E7",-1,2],["\u00E9",-1,1],["\u00EA",-1,1]];
const G_v = [17,65,16,0,0,0,0,0,0,0,0,0,0,0,0,0,3,19,12,2];
function r_prelude(e, context) {
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
if (!e.sliceFrom("a~")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("o~")) {
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
function r_mark_regions(e, context) {
context.i_pV = e.l;
context.i_p1 = e.l;
context.i_p2 = e.l;
let v_1 = e.c;
lab0: while (true) {
lab1: while (true) {
let v_2 = e.c;
lab2: while (true) {
if (!e.inGrouping(G_v, 97, 250)) {
break lab2;
}
lab3: while (true) {
let v_3 = e.c;
lab4: while (true) {
if (!e.outGrouping(G_v, 97, 250)) {
break lab4;
}
golab5: while (true) {
lab6: while (true) {
if (!e.inGrouping(G_v, 97, 250)) {
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
if (!e.inGrouping(G_v, 97, 250)) {
break lab2;
}
golab7: while (true) {
lab8: while (true) {
if (!e.outGrouping(G_v, 97, 250)) {
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
if (!e.outGrouping(G_v, 97, 250)) {
break lab0;
}
lab9: while (true) {
let v_6 = e.c;
lab10: while (true) {
if (!e.outGrouping(G_v, 97, 250)) {
break lab10;
}
golab11: while (true) {
lab12: while (true) {
if (!e.inGrouping(G_v, 97, 250)) {
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
if (!e.inGrouping(G_v, 97, 250)) {
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
if (!e.inGrouping(G_v, 97, 250)) {
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
if (!e.outGrouping(G_v, 97, 250)) {
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
if (!e.inGrouping(G_v, 97, 250)) {
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
if (!e.outGrouping(G_v, 97, 250)) {
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
among_var = e.among(A_1, context);
if (among_var === 0) {
break lab1;
}
e.ket = e.c;
if (among_var === 0) {
break lab1;
} else if (among_var === 1) {
if (!e.sliceFrom("\u00E3")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("\u00F5")) {
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
function r_standard_suffix(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_5, context);
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
if (!e.sliceFrom("log")) {
return false;
}
} else if (among_var === 3) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceFrom("u")) {
return false;
}
} else if (among_var === 4) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceFrom("ente")) {
return false;
}
} else if (among_var === 5) {
if (!r_R1(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_1 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
among_var = e.amongB(A_2, context);
if (among_var === 0) {
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
if (among_var === 0) {
e.c = e.l - v_1;
break lab0;
} else if (among_var === 1) {
e.ket = e.c;
if (!e.eqB("at")) {
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
}
break lab0;
}
} else if (among_var === 6) {
if (!r_R2(e, context)) {
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
if (among_var === 0) {
e.c = e.l - v_2;
break lab1;
} else if (among_var === 1) {
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
if (!e.eqB("at")) {
e.c = e.l - v_4;
break lab3;
}
e.bra = e.c;
if (!r_R2(e, context)) {
e.c = e.l - v_4;
break lab3;
}
if (!e.sliceDel()) {
return false;
}
break lab3;
}
} else if (among_var === 9) {
if (!r_RV(e, context)) {
return false;
}
if (!e.eqB("e")) {
return false;
}
if (!e.sliceFrom("ir")) {
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
among_var = e.amongB(A_6, context);
if (among_var === 0) {
e.lb = v_2;
return false;
}
e.bra = e.c;
if (among_var === 0) {
e.lb = v_2;
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
}
e.lb = v_2;
return true;
}
function r_residual_suffix(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_7, context);
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
}
return true;
}
function r_residual_form(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_8, context);
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
e.ket = e.c;
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!e.eqB("u")) {
break lab1;
}
e.bra = e.c;
let v_2 = e.l - e.c;
if (!e.eqB("g")) {
break lab1;
}
e.c = e.l - v_2;
break lab0;
}
e.c = e.l - v_1;
if (!e.eqB("i")) {
return false;
}
e.bra = e.c;
let v_3 = e.l - e.c;
if (!e.eqB("c")) {
return false;
}
e.c = e.l - v_3;
break lab0;
}
if (!r_RV(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("c")) {
return false;
}
}
return true;
}
function Stem(e) {
let context = { i_p2: 0, i_p1: 0, i_pV: 0 };
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
lab3: while (true) {
let v_4 = e.l - e.c;
lab4: while (true) {
let v_5 = e.l - e.c;
lab5: while (true) {
let v_6 = e.l - e.c;
lab6: while (true) {
if (!r_standard_suffix(e, context)) {
break lab6;
}
break lab5;
}
e.c = e.l - v_6;
if (!r_verb_suffix(e, context)) {
break lab4;
}
break lab5;
}
e.c = e.l - v_5;
let v_7 = e.l - e.c;
lab7: while (true) {
e.ket = e.c;
if (!e.eqB("i")) {
break lab7;
}
e.bra = e.c;
let v_8 = e.l - e.c;
if (!e.eqB("c")) {
break lab7;
}
e.c = e.l - v_8;
if (!r_RV(e, context)) {
break lab7;
}
if (!e.sliceDel()) {
return false;
}
break lab7;
}
e.c = e.l - v_7;
break lab3;
}
e.c = e.l - v_4;
if (!r_residual_suffix(e, context)) {
break lab2;
}
break lab3;
}
break lab2;
}
e.c = e.l - v_3;
let v_9 = e.l - e.c;
lab8: while (true) {
if (!r_residual_form(e, context)) {
break lab8;
}
break lab8;
}
e.c = e.l - v_9;
e.c = e.lb;
let v_10 = e.c;
lab9: while (true) {
if (!r_postlude(e, context)) {
break lab9;
}
break lab9;
}
e.c = v_10;
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
