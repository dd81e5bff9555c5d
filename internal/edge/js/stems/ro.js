// The stemmer is generated from github.com/blevesearch/snowballstem/romanian. Do not edit.

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

const LANGUAGE = { code: "ro", stops: "a acea acest această ai al ale am ar are așa au ca care când ce cel cine cu cum da dar de decât din doar după ea ei el este eu fi fie fost iar în însă la le li lor lui mai mea meu mi ne ni noi nu o pe pentru prin sa sau se si și sunt tău te toate tot tu un una unde unei unui va voi", weak: "", related: "", elides: false };

const stem = (() => {
const A_0 = [["",-1,3],["I",0,1],["U",0,2]];
const A_1 = [["ea",-1,3],["a\u0163ia",-1,7],["aua",-1,2],["iua",-1,4],["a\u0163ie",-1,7],["ele",-1,3],["ile",-1,5],["iile",6,4],["iei",-1,4],["atei",-1,6],["ii",-1,4],["ului",-1,1],["ul",-1,1],["elor",-1,3],["ilor",-1,4],["iilor",14,4]];
const A_2 = [["icala",-1,4],["iciva",-1,4],["ativa",-1,5],["itiva",-1,6],["icale",-1,4],["a\u0163iune",-1,5],["i\u0163iune",-1,6],["atoare",-1,5],["itoare",-1,6],["\u0103toare",-1,5],["icitate",-1,4],["abilitate",-1,1],["ibilitate",-1,2],["ivitate",-1,3],["icive",-1,4],["ative",-1,5],["itive",-1,6],["icali",-1,4],["atori",-1,5],["icatori",18,4],["itori",-1,6],["\u0103tori",-1,5],["icitati",-1,4],["abilitati",-1,1],["ivitati",-1,3],["icivi",-1,4],["ativi",-1,5],["itivi",-1,6],["icit\u0103i",-1,4],["abilit\u0103i",-1,1],["ivit\u0103i",-1,3],["icit\u0103\u0163i",-1,4],["abilit\u0103\u0163i",-1,1],["ivit\u0103\u0163i",-1,3],["ical",-1,4],["ator",-1,5],["icator",35,4],["itor",-1,6],["\u0103tor",-1,5],["iciv",-1,4],["ativ",-1,5],["itiv",-1,6],["ical\u0103",-1,4],["iciv\u0103",-1,4],["ativ\u0103",-1,5],["itiv\u0103",-1,6]];
const A_3 = [["ica",-1,1],["abila",-1,1],["ibila",-1,1],["oasa",-1,1],["ata",-1,1],["ita",-1,1],["anta",-1,1],["ista",-1,3],["uta",-1,1],["iva",-1,1],["ic",-1,1],["ice",-1,1],["abile",-1,1],["ibile",-1,1],["isme",-1,3],["iune",-1,2],["oase",-1,1],["ate",-1,1],["itate",17,1],["ite",-1,1],["ante",-1,1],["iste",-1,3],["ute",-1,1],["ive",-1,1],["ici",-1,1],["abili",-1,1],["ibili",-1,1],["iuni",-1,2],["atori",-1,1],["osi",-1,1],["ati",-1,1],["itati",30,1],["iti",-1,1],["anti",-1,1],["isti",-1,3],["uti",-1,1],["i\u015Fti",-1,3],["ivi",-1,1],["it\u0103i",-1,1],["o\u015Fi",-1,1],["it\u0103\u0163i",-1,1],["abil",-1,1],["ibil",-1,1],["ism",-1,3],["ator",-1,1],["os",-1,1],["at",-1,1],["it",-1,1],["ant",-1,1],["ist",-1,3],["ut",-1,1],["iv",-1,1],["ic\u0103",-1,1],["abil\u0103",-1,1],["ibil\u0103",-1,1],["oas\u0103",-1,1],["at\u0103",-1,1],["it\u0103",-1,1],["ant\u0103",-1,1],["ist\u0103",-1,3],["ut\u0103",-1,1],["iv\u0103",-1,1]];
const A_4 = [["ea",-1,1],["ia",-1,1],["esc",-1,1],["\u0103sc",-1,1],["ind",-1,1],["\u00E2nd",-1,1],["are",-1,1],["ere",-1,1],["ire",-1,1],["\u00E2re",-1,1],["se",-1,2],["ase",10,1],["sese",10,2],["ise",10,1],["use",10,1],["\u00E2se",10,1],["e\u015Fte",-1,1],["\u0103\u015Fte",-1,1],["eze",-1,1],["ai",-1,1],["eai",19,1],["iai",19,1],["sei",-1,2],["e\u015Fti",-1,1],["\u0103\u015Fti",-1,1],["ui",-1,1],["ezi",-1,1],["a\u015Fi",-1,1],["se\u015Fi",-1,2],["ase\u015Fi",28,1],["sese\u015Fi",28,2],["ise\u015Fi",28,1],["use\u015Fi",28,1],["\u00E2se\u015Fi",28,1],["i\u015Fi",-1,1],["u\u015Fi",-1,1],["\u00E2\u015Fi",-1,1],["\u00E2i",-1,1],["a\u0163i",-1,2],["ea\u0163i",38,1],["ia\u0163i",38,1],["e\u0163i",-1,2],["i\u0163i",-1,2],["ar\u0103\u0163i",-1,1],["ser\u0103\u0163i",-1,2],["aser\u0103\u0163i",44,1],["seser\u0103\u0163i",44,2],["iser\u0103\u0163i",44,1],["user\u0103\u0163i",44,1],["\u00E2ser\u0103\u0163i",44,1],["ir\u0103\u0163i",-1,1],["ur\u0103\u0163i",-1,1],["\u00E2r\u0103\u0163i",-1,1],["\u00E2\u0163i",-1,2],["am",-1,1],["eam",54,1],["iam",54,1],["em",-1,2],["asem",57,1],["sesem",57,2],["isem",57,1],["usem",57,1],["\u00E2sem",57,1],["im",-1,2],["\u0103m",-1,2],["ar\u0103m",64,1],["ser\u0103m",64,2],["aser\u0103m",66,1],["seser\u0103m",66,2],["iser\u0103m",66,1],["user\u0103m",66,1],["\u00E2ser\u0103m",66,1],["ir\u0103m",64,1],["ur\u0103m",64,1],["\u00E2r\u0103m",64,1],["\u00E2m",-1,2],["au",-1,1],["eau",76,1],["iau",76,1],["indu",-1,1],["\u00E2ndu",-1,1],["ez",-1,1],["easc\u0103",-1,1],["ar\u0103",-1,1],["ser\u0103",-1,2],["aser\u0103",84,1],["seser\u0103",84,2],["iser\u0103",84,1],["user\u0103",84,1],["\u00E2ser\u0103",84,1],["ir\u0103",-1,1],["ur\u0103",-1,1],["\u00E2r\u0103",-1,1],["eaz\u0103",-1,1]];
const A_5 = [["a",-1,1],["e",-1,1],["ie",1,1],["i",-1,1],["\u0103",-1,1]];
const G_v = [17,65,16,0,0,0,0,0,0,0,0,0,0,0,0,0,2,32,0,0,4];
function r_prelude(e, context) {
replab0: while (true) {
let v_1 = e.c;
lab1: for (let round = 0; round < 2; round++) {
golab2: while (true) {
let v_2 = e.c;
lab3: while (true) {
if (!e.inGrouping(G_v, 97, 259)) {
break lab3;
}
e.bra = e.c;
lab4: while (true) {
let v_3 = e.c;
lab5: while (true) {
if (!e.eq("u")) {
break lab5;
}
e.ket = e.c;
if (!e.inGrouping(G_v, 97, 259)) {
break lab5;
}
if (!e.sliceFrom("U")) {
return false;
}
break lab4;
}
e.c = v_3;
if (!e.eq("i")) {
break lab3;
}
e.ket = e.c;
if (!e.inGrouping(G_v, 97, 259)) {
break lab3;
}
if (!e.sliceFrom("I")) {
return false;
}
break lab4;
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
if (!e.inGrouping(G_v, 97, 259)) {
break lab2;
}
lab3: while (true) {
let v_3 = e.c;
lab4: while (true) {
if (!e.outGrouping(G_v, 97, 259)) {
break lab4;
}
golab5: while (true) {
lab6: while (true) {
if (!e.inGrouping(G_v, 97, 259)) {
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
if (!e.inGrouping(G_v, 97, 259)) {
break lab2;
}
golab7: while (true) {
lab8: while (true) {
if (!e.outGrouping(G_v, 97, 259)) {
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
if (!e.outGrouping(G_v, 97, 259)) {
break lab0;
}
lab9: while (true) {
let v_6 = e.c;
lab10: while (true) {
if (!e.outGrouping(G_v, 97, 259)) {
break lab10;
}
golab11: while (true) {
lab12: while (true) {
if (!e.inGrouping(G_v, 97, 259)) {
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
if (!e.inGrouping(G_v, 97, 259)) {
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
if (!e.inGrouping(G_v, 97, 259)) {
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
if (!e.outGrouping(G_v, 97, 259)) {
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
if (!e.inGrouping(G_v, 97, 259)) {
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
if (!e.outGrouping(G_v, 97, 259)) {
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
function r_step_0(e, context) {
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
if (!e.sliceFrom("i")) {
return false;
}
} else if (among_var === 5) {
let v_1 = e.l - e.c;
lab0: while (true) {
if (!e.eqB("ab")) {
break lab0;
}
return false;
}
e.c = e.l - v_1;
if (!e.sliceFrom("i")) {
return false;
}
} else if (among_var === 6) {
if (!e.sliceFrom("at")) {
return false;
}
} else if (among_var === 7) {
if (!e.sliceFrom("a\u0163i")) {
return false;
}
}
return true;
}
function r_combo_suffix(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
e.ket = e.c;
among_var = e.amongB(A_2, context);
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
if (!e.sliceFrom("abil")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("ibil")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("iv")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceFrom("ic")) {
return false;
}
} else if (among_var === 5) {
if (!e.sliceFrom("at")) {
return false;
}
} else if (among_var === 6) {
if (!e.sliceFrom("it")) {
return false;
}
}
context.b_standard_suffix_removed = true;
e.c = e.l - v_1;
return true;
}
function r_standard_suffix(e, context) {
let among_var = 0;
context.b_standard_suffix_removed = false;
replab0: while (true) {
let v_1 = e.l - e.c;
lab1: for (let round = 0; round < 2; round++) {
if (!r_combo_suffix(e, context)) {
break lab1;
}
continue replab0;
}
e.c = e.l - v_1;
break replab0;
}
e.ket = e.c;
among_var = e.amongB(A_3, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R2(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.eqB("\u0163")) {
return false;
}
e.bra = e.c;
if (!e.sliceFrom("t")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("ist")) {
return false;
}
}
context.b_standard_suffix_removed = true;
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
among_var = e.amongB(A_4, context);
if (among_var === 0) {
e.lb = v_2;
return false;
}
e.bra = e.c;
if (among_var === 0) {
e.lb = v_2;
return false;
} else if (among_var === 1) {
lab0: while (true) {
let v_3 = e.l - e.c;
lab1: while (true) {
if (!e.outGroupingB(G_v, 97, 259)) {
break lab1;
}
break lab0;
}
e.c = e.l - v_3;
if (!e.eqB("u")) {
e.lb = v_2;
return false;
}
break lab0;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceDel()) {
return false;
}
}
e.lb = v_2;
return true;
}
function r_vowel_suffix(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_5, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_RV(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function Stem(e) {
let context = { b_standard_suffix_removed: false, i_p2: 0, i_p1: 0, i_pV: 0 };
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
if (!r_step_0(e, context)) {
break lab2;
}
break lab2;
}
e.c = e.l - v_3;
let v_4 = e.l - e.c;
lab3: while (true) {
if (!r_standard_suffix(e, context)) {
break lab3;
}
break lab3;
}
e.c = e.l - v_4;
let v_5 = e.l - e.c;
lab4: while (true) {
lab5: while (true) {
let v_6 = e.l - e.c;
lab6: while (true) {
if (!context.b_standard_suffix_removed) {
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
break lab4;
}
e.c = e.l - v_5;
let v_7 = e.l - e.c;
lab7: while (true) {
if (!r_vowel_suffix(e, context)) {
break lab7;
}
break lab7;
}
e.c = e.l - v_7;
e.c = e.lb;
let v_8 = e.c;
lab8: while (true) {
if (!r_postlude(e, context)) {
break lab8;
}
break lab8;
}
e.c = v_8;
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
