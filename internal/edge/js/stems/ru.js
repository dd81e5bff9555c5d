// The stemmer is generated from github.com/blevesearch/snowballstem/russian. Do not edit.

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

const LANGUAGE = { code: "ru", stops: "а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если есть еще же за здесь и из или им их к как какая какой когда кто ли меня мне может мой мы на надо нас не него нет ни но ну о об он она они от по под при с со так также там то того тоже только у уже чего чем что чтобы эта эти это этот я", weak: "", related: "", elides: false };

const stem = (() => {
const A_0 = [["\u0432\u0448\u0438\u0441\u044C",-1,1],["\u044B\u0432\u0448\u0438\u0441\u044C",0,2],["\u0438\u0432\u0448\u0438\u0441\u044C",0,2],["\u0432",-1,1],["\u044B\u0432",3,2],["\u0438\u0432",3,2],["\u0432\u0448\u0438",-1,1],["\u044B\u0432\u0448\u0438",6,2],["\u0438\u0432\u0448\u0438",6,2]];
const A_1 = [["\u0435\u043C\u0443",-1,1],["\u043E\u043C\u0443",-1,1],["\u044B\u0445",-1,1],["\u0438\u0445",-1,1],["\u0443\u044E",-1,1],["\u044E\u044E",-1,1],["\u0435\u044E",-1,1],["\u043E\u044E",-1,1],["\u044F\u044F",-1,1],["\u0430\u044F",-1,1],["\u044B\u0435",-1,1],["\u0435\u0435",-1,1],["\u0438\u0435",-1,1],["\u043E\u0435",-1,1],["\u044B\u043C\u0438",-1,1],["\u0438\u043C\u0438",-1,1],["\u044B\u0439",-1,1],["\u0435\u0439",-1,1],["\u0438\u0439",-1,1],["\u043E\u0439",-1,1],["\u044B\u043C",-1,1],["\u0435\u043C",-1,1],["\u0438\u043C",-1,1],["\u043E\u043C",-1,1],["\u0435\u0433\u043E",-1,1],["\u043E\u0433\u043E",-1,1]];
const A_2 = [["\u0432\u0448",-1,1],["\u044B\u0432\u0448",0,2],["\u0438\u0432\u0448",0,2],["\u0449",-1,1],["\u044E\u0449",3,1],["\u0443\u044E\u0449",4,2],["\u0435\u043C",-1,1],["\u043D\u043D",-1,1]];
const A_3 = [["\u0441\u044C",-1,1],["\u0441\u044F",-1,1]];
const A_4 = [["\u044B\u0442",-1,2],["\u044E\u0442",-1,1],["\u0443\u044E\u0442",1,2],["\u044F\u0442",-1,2],["\u0435\u0442",-1,1],["\u0443\u0435\u0442",4,2],["\u0438\u0442",-1,2],["\u043D\u044B",-1,1],["\u0435\u043D\u044B",7,2],["\u0442\u044C",-1,1],["\u044B\u0442\u044C",9,2],["\u0438\u0442\u044C",9,2],["\u0435\u0448\u044C",-1,1],["\u0438\u0448\u044C",-1,2],["\u044E",-1,2],["\u0443\u044E",14,2],["\u043B\u0430",-1,1],["\u044B\u043B\u0430",16,2],["\u0438\u043B\u0430",16,2],["\u043D\u0430",-1,1],["\u0435\u043D\u0430",19,2],["\u0435\u0442\u0435",-1,1],["\u0438\u0442\u0435",-1,2],["\u0439\u0442\u0435",-1,1],["\u0443\u0439\u0442\u0435",23,2],["\u0435\u0439\u0442\u0435",23,2],["\u043B\u0438",-1,1],["\u044B\u043B\u0438",26,2],["\u0438\u043B\u0438",26,2],["\u0439",-1,1],["\u0443\u0439",29,2],["\u0435\u0439",29,2],["\u043B",-1,1],["\u044B\u043B",32,2],["\u0438\u043B",32,2],["\u044B\u043C",-1,2],["\u0435\u043C",-1,1],["\u0438\u043C",-1,2],["\u043D",-1,1],["\u0435\u043D",38,2],["\u043B\u043E",-1,1],["\u044B\u043B\u043E",40,2],["\u0438\u043B\u043E",40,2],["\u043D\u043E",-1,1],["\u0435\u043D\u043E",43,2],["\u043D\u043D\u043E",43,1]];
const A_5 = [["\u0443",-1,1],["\u044F\u0445",-1,1],["\u0438\u044F\u0445",1,1],["\u0430\u0445",-1,1],["\u044B",-1,1],["\u044C",-1,1],["\u044E",-1,1],["\u044C\u044E",6,1],["\u0438\u044E",6,1],["\u044F",-1,1],["\u044C\u044F",9,1],["\u0438\u044F",9,1],["\u0430",-1,1],["\u0435\u0432",-1,1],["\u043E\u0432",-1,1],["\u0435",-1,1],["\u044C\u0435",15,1],["\u0438\u0435",15,1],["\u0438",-1,1],["\u0435\u0438",18,1],["\u0438\u0438",18,1],["\u044F\u043C\u0438",18,1],["\u0438\u044F\u043C\u0438",21,1],["\u0430\u043C\u0438",18,1],["\u0439",-1,1],["\u0435\u0439",24,1],["\u0438\u0435\u0439",25,1],["\u0438\u0439",24,1],["\u043E\u0439",24,1],["\u044F\u043C",-1,1],["\u0438\u044F\u043C",29,1],["\u0430\u043C",-1,1],["\u0435\u043C",-1,1],["\u0438\u0435\u043C",32,1],["\u043E\u043C",-1,1],["\u043E",-1,1]];
const A_6 = [["\u043E\u0441\u0442",-1,1],["\u043E\u0441\u0442\u044C",-1,1]];
const A_7 = [["\u0435\u0439\u0448",-1,1],["\u044C",-1,3],["\u0435\u0439\u0448\u0435",-1,1],["\u043D",-1,2]];
const G_v = [33,65,8,232];
function r_mark_regions(e, context) {
context.i_pV = e.l;
context.i_p2 = e.l;
let v_1 = e.c;
lab0: while (true) {
golab1: while (true) {
lab2: while (true) {
if (!e.inGrouping(G_v, 1072, 1103)) {
break lab2;
}
break golab1;
}
if (e.c >= e.l) {
break lab0;
}
e.next();
}
context.i_pV = e.c;
golab3: while (true) {
lab4: while (true) {
if (!e.outGrouping(G_v, 1072, 1103)) {
break lab4;
}
break golab3;
}
if (e.c >= e.l) {
break lab0;
}
e.next();
}
golab5: while (true) {
lab6: while (true) {
if (!e.inGrouping(G_v, 1072, 1103)) {
break lab6;
}
break golab5;
}
if (e.c >= e.l) {
break lab0;
}
e.next();
}
golab7: while (true) {
lab8: while (true) {
if (!e.outGrouping(G_v, 1072, 1103)) {
break lab8;
}
break golab7;
}
if (e.c >= e.l) {
break lab0;
}
e.next();
}
context.i_p2 = e.c;
break lab0;
}
e.c = v_1;
return true;
}
function r_R2(e, context) {
if (!(context.i_p2 <= e.c)) {
return false;
}
return true;
}
function r_perfective_gerund(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_0, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!e.eqB("\u0430")) {
break lab1;
}
break lab0;
}
e.c = e.l - v_1;
if (!e.eqB("\u044F")) {
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
return true;
}
function r_adjective(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_1, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_adjectival(e, context) {
let among_var = 0;
if (!r_adjective(e, context)) {
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
if (among_var === 0) {
e.c = e.l - v_1;
break lab0;
} else if (among_var === 1) {
lab1: while (true) {
let v_2 = e.l - e.c;
lab2: while (true) {
if (!e.eqB("\u0430")) {
break lab2;
}
break lab1;
}
e.c = e.l - v_2;
if (!e.eqB("\u044F")) {
e.c = e.l - v_1;
break lab0;
}
break lab1;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceDel()) {
return false;
}
}
break lab0;
}
return true;
}
function r_reflexive(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_3, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_verb(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_4, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!e.eqB("\u0430")) {
break lab1;
}
break lab0;
}
e.c = e.l - v_1;
if (!e.eqB("\u044F")) {
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
return true;
}
function r_noun(e, context) {
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
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_derivational(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_6, context);
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
}
return true;
}
function r_tidy_up(e, context) {
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
if (!e.sliceDel()) {
return false;
}
e.ket = e.c;
if (!e.eqB("\u043D")) {
return false;
}
e.bra = e.c;
if (!e.eqB("\u043D")) {
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.eqB("\u043D")) {
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function Stem(e) {
let context = { i_p2: 0, i_pV: 0 };
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
if (e.c < context.i_pV) {
return false;
}
e.c = context.i_pV;
let v_3 = e.lb;
e.lb = e.c;
e.c = e.l - v_2;
let v_4 = e.l - e.c;
lab1: while (true) {
lab2: while (true) {
let v_5 = e.l - e.c;
lab3: while (true) {
if (!r_perfective_gerund(e, context)) {
break lab3;
}
break lab2;
}
e.c = e.l - v_5;
let v_6 = e.l - e.c;
lab4: while (true) {
if (!r_reflexive(e, context)) {
e.c = e.l - v_6;
break lab4;
}
break lab4;
}
lab5: while (true) {
let v_7 = e.l - e.c;
lab6: while (true) {
if (!r_adjectival(e, context)) {
break lab6;
}
break lab5;
}
e.c = e.l - v_7;
lab7: while (true) {
if (!r_verb(e, context)) {
break lab7;
}
break lab5;
}
e.c = e.l - v_7;
if (!r_noun(e, context)) {
break lab1;
}
break lab5;
}
break lab2;
}
break lab1;
}
e.c = e.l - v_4;
let v_8 = e.l - e.c;
lab8: while (true) {
e.ket = e.c;
if (!e.eqB("\u0438")) {
e.c = e.l - v_8;
break lab8;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
break lab8;
}
let v_9 = e.l - e.c;
lab9: while (true) {
if (!r_derivational(e, context)) {
break lab9;
}
break lab9;
}
e.c = e.l - v_9;
let v_10 = e.l - e.c;
lab10: while (true) {
if (!r_tidy_up(e, context)) {
break lab10;
}
break lab10;
}
e.c = e.l - v_10;
e.lb = v_3;
e.c = e.lb;
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
