// The stemmer is generated from github.com/blevesearch/snowballstem/italian. Do not edit.

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

const LANGUAGE = { code: "it", stops: "a ad ai al alla alle anche che chi ci come con cosa cui da dal dalla dei del della delle di dove e è ed gli ha ho i il in io la le lei lo loro lui ma mi mia mio ne nei nel nella non o ogni per perché più può quale quando quello questa questo se senza si sia sono sua sul sulla suo ti tra tu tua tuo un una uno vi c d l dell nell all sull", weak: "", related: "", elides: true };

const stem = (() => {
const A_0 = [["",-1,7],["qu",0,6],["\u00E1",0,1],["\u00E9",0,2],["\u00ED",0,3],["\u00F3",0,4],["\u00FA",0,5]];
const A_1 = [["",-1,3],["I",0,1],["U",0,2]];
const A_2 = [["la",-1,-1],["cela",0,-1],["gliela",0,-1],["mela",0,-1],["tela",0,-1],["vela",0,-1],["le",-1,-1],["cele",6,-1],["gliele",6,-1],["mele",6,-1],["tele",6,-1],["vele",6,-1],["ne",-1,-1],["cene",12,-1],["gliene",12,-1],["mene",12,-1],["sene",12,-1],["tene",12,-1],["vene",12,-1],["ci",-1,-1],["li",-1,-1],["celi",20,-1],["glieli",20,-1],["meli",20,-1],["teli",20,-1],["veli",20,-1],["gli",20,-1],["mi",-1,-1],["si",-1,-1],["ti",-1,-1],["vi",-1,-1],["lo",-1,-1],["celo",31,-1],["glielo",31,-1],["melo",31,-1],["telo",31,-1],["velo",31,-1]];
const A_3 = [["ando",-1,1],["endo",-1,1],["ar",-1,2],["er",-1,2],["ir",-1,2]];
const A_4 = [["ic",-1,-1],["abil",-1,-1],["os",-1,-1],["iv",-1,1]];
const A_5 = [["ic",-1,1],["abil",-1,1],["iv",-1,1]];
const A_6 = [["ica",-1,1],["logia",-1,3],["osa",-1,1],["ista",-1,1],["iva",-1,9],["anza",-1,1],["enza",-1,5],["ice",-1,1],["atrice",7,1],["iche",-1,1],["logie",-1,3],["abile",-1,1],["ibile",-1,1],["usione",-1,4],["azione",-1,2],["uzione",-1,4],["atore",-1,2],["ose",-1,1],["ante",-1,1],["mente",-1,1],["amente",19,7],["iste",-1,1],["ive",-1,9],["anze",-1,1],["enze",-1,5],["ici",-1,1],["atrici",25,1],["ichi",-1,1],["abili",-1,1],["ibili",-1,1],["ismi",-1,1],["usioni",-1,4],["azioni",-1,2],["uzioni",-1,4],["atori",-1,2],["osi",-1,1],["anti",-1,1],["amenti",-1,6],["imenti",-1,6],["isti",-1,1],["ivi",-1,9],["ico",-1,1],["ismo",-1,1],["oso",-1,1],["amento",-1,6],["imento",-1,6],["ivo",-1,9],["it\u00E0",-1,8],["ist\u00E0",-1,1],["ist\u00E8",-1,1],["ist\u00EC",-1,1]];
const A_7 = [["isca",-1,1],["enda",-1,1],["ata",-1,1],["ita",-1,1],["uta",-1,1],["ava",-1,1],["eva",-1,1],["iva",-1,1],["erebbe",-1,1],["irebbe",-1,1],["isce",-1,1],["ende",-1,1],["are",-1,1],["ere",-1,1],["ire",-1,1],["asse",-1,1],["ate",-1,1],["avate",16,1],["evate",16,1],["ivate",16,1],["ete",-1,1],["erete",20,1],["irete",20,1],["ite",-1,1],["ereste",-1,1],["ireste",-1,1],["ute",-1,1],["erai",-1,1],["irai",-1,1],["isci",-1,1],["endi",-1,1],["erei",-1,1],["irei",-1,1],["assi",-1,1],["ati",-1,1],["iti",-1,1],["eresti",-1,1],["iresti",-1,1],["uti",-1,1],["avi",-1,1],["evi",-1,1],["ivi",-1,1],["isco",-1,1],["ando",-1,1],["endo",-1,1],["Yamo",-1,1],["iamo",-1,1],["avamo",-1,1],["evamo",-1,1],["ivamo",-1,1],["eremo",-1,1],["iremo",-1,1],["assimo",-1,1],["ammo",-1,1],["emmo",-1,1],["eremmo",54,1],["iremmo",54,1],["immo",-1,1],["ano",-1,1],["iscano",58,1],["avano",58,1],["evano",58,1],["ivano",58,1],["eranno",-1,1],["iranno",-1,1],["ono",-1,1],["iscono",65,1],["arono",65,1],["erono",65,1],["irono",65,1],["erebbero",-1,1],["irebbero",-1,1],["assero",-1,1],["essero",-1,1],["issero",-1,1],["ato",-1,1],["ito",-1,1],["uto",-1,1],["avo",-1,1],["evo",-1,1],["ivo",-1,1],["ar",-1,1],["ir",-1,1],["er\u00E0",-1,1],["ir\u00E0",-1,1],["er\u00F2",-1,1],["ir\u00F2",-1,1]];
const G_v = [17,65,16,0,0,0,0,0,0,0,0,0,0,0,0,128,128,8,2,1];
const G_AEIO = [17,65,0,0,0,0,0,0,0,0,0,0,0,0,0,128,128,8,2];
const G_CG = [17];
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
if (!e.sliceFrom("\u00E0")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("\u00E8")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("\u00EC")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceFrom("\u00F2")) {
return false;
}
} else if (among_var === 5) {
if (!e.sliceFrom("\u00F9")) {
return false;
}
} else if (among_var === 6) {
if (!e.sliceFrom("qU")) {
return false;
}
} else if (among_var === 7) {
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
replab2: while (true) {
let v_3 = e.c;
lab3: for (let round = 0; round < 2; round++) {
golab4: while (true) {
let v_4 = e.c;
lab5: while (true) {
if (!e.inGrouping(G_v, 97, 249)) {
break lab5;
}
e.bra = e.c;
lab6: while (true) {
let v_5 = e.c;
lab7: while (true) {
if (!e.eq("u")) {
break lab7;
}
e.ket = e.c;
if (!e.inGrouping(G_v, 97, 249)) {
break lab7;
}
if (!e.sliceFrom("U")) {
return false;
}
break lab6;
}
e.c = v_5;
if (!e.eq("i")) {
break lab5;
}
e.ket = e.c;
if (!e.inGrouping(G_v, 97, 249)) {
break lab5;
}
if (!e.sliceFrom("I")) {
return false;
}
break lab6;
}
e.c = v_4;
break golab4;
}
e.c = v_4;
if (e.c >= e.l) {
break lab3;
}
e.next();
}
continue replab2;
}
e.c = v_3;
break replab2;
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
if (!e.inGrouping(G_v, 97, 249)) {
break lab2;
}
lab3: while (true) {
let v_3 = e.c;
lab4: while (true) {
if (!e.outGrouping(G_v, 97, 249)) {
break lab4;
}
golab5: while (true) {
lab6: while (true) {
if (!e.inGrouping(G_v, 97, 249)) {
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
if (!e.inGrouping(G_v, 97, 249)) {
break lab2;
}
golab7: while (true) {
lab8: while (true) {
if (!e.outGrouping(G_v, 97, 249)) {
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
if (!e.outGrouping(G_v, 97, 249)) {
break lab0;
}
lab9: while (true) {
let v_6 = e.c;
lab10: while (true) {
if (!e.outGrouping(G_v, 97, 249)) {
break lab10;
}
golab11: while (true) {
lab12: while (true) {
if (!e.inGrouping(G_v, 97, 249)) {
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
if (!e.inGrouping(G_v, 97, 249)) {
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
if (!e.inGrouping(G_v, 97, 249)) {
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
if (!e.outGrouping(G_v, 97, 249)) {
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
if (!e.inGrouping(G_v, 97, 249)) {
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
if (!e.outGrouping(G_v, 97, 249)) {
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
if (!e.sliceFrom("i")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("u")) {
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
function r_attached_pronoun(e, context) {
let among_var = 0;
e.ket = e.c;
if (e.amongB(A_2, context) === 0) {
return false;
}
e.bra = e.c;
among_var = e.amongB(A_3, context);
if (among_var === 0) {
return false;
}
if (!r_RV(e, context)) {
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
if (!r_RV(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 7) {
if (!r_R1(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_2 = e.l - e.c;
lab1: while (true) {
e.ket = e.c;
among_var = e.amongB(A_4, context);
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
} else if (among_var === 8) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_3 = e.l - e.c;
lab2: while (true) {
e.ket = e.c;
among_var = e.amongB(A_5, context);
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
} else if (among_var === 9) {
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
e.ket = e.c;
if (!e.eqB("ic")) {
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
among_var = e.amongB(A_7, context);
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
function r_vowel_suffix(e, context) {
let v_1 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
if (!e.inGroupingB(G_AEIO, 97, 242)) {
e.c = e.l - v_1;
break lab0;
}
e.bra = e.c;
if (!r_RV(e, context)) {
e.c = e.l - v_1;
break lab0;
}
if (!e.sliceDel()) {
return false;
}
e.ket = e.c;
if (!e.eqB("i")) {
e.c = e.l - v_1;
break lab0;
}
e.bra = e.c;
if (!r_RV(e, context)) {
e.c = e.l - v_1;
break lab0;
}
if (!e.sliceDel()) {
return false;
}
break lab0;
}
let v_2 = e.l - e.c;
lab1: while (true) {
e.ket = e.c;
if (!e.eqB("h")) {
e.c = e.l - v_2;
break lab1;
}
e.bra = e.c;
if (!e.inGroupingB(G_CG, 99, 103)) {
e.c = e.l - v_2;
break lab1;
}
if (!r_RV(e, context)) {
e.c = e.l - v_2;
break lab1;
}
if (!e.sliceDel()) {
return false;
}
break lab1;
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
if (!r_attached_pronoun(e, context)) {
break lab2;
}
break lab2;
}
e.c = e.l - v_3;
let v_4 = e.l - e.c;
lab3: while (true) {
lab4: while (true) {
let v_5 = e.l - e.c;
lab5: while (true) {
if (!r_standard_suffix(e, context)) {
break lab5;
}
break lab4;
}
e.c = e.l - v_5;
if (!r_verb_suffix(e, context)) {
break lab3;
}
break lab4;
}
break lab3;
}
e.c = e.l - v_4;
let v_6 = e.l - e.c;
lab6: while (true) {
if (!r_vowel_suffix(e, context)) {
break lab6;
}
break lab6;
}
e.c = e.l - v_6;
e.c = e.lb;
let v_7 = e.c;
lab7: while (true) {
if (!r_postlude(e, context)) {
break lab7;
}
break lab7;
}
e.c = v_7;
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
