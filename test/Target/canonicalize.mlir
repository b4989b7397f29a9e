// Canonical forms with the patterns of the ops that are there; ops that come in bring theirs.
//
// RUN: gantry-opt %s --gantry-canonicalize | FileCheck %s
// RUN: gantry-opt %s --canonicalize | FileCheck %s
// RUN: gantry-opt %s --gantry-canonicalize="merge-constants=false" | FileCheck %s --check-prefix=APART
// RUN: gantry-opt %s --gantry-canonicalize="merge-blocks" | FileCheck %s --check-prefix=BLOCKS

// Folding needs no pattern, and equal constants are one.
// CHECK-LABEL: func @folds
// CHECK-NEXT: %[[C:.*]] = arith.constant 5 : i32
// CHECK-NEXT: return %[[C]], %[[C]]
// APART-LABEL: func @folds
// APART: arith.constant 5 : i32
// APART: arith.constant 5 : i32
func.func @folds() -> (i32, i32) {
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %a = arith.addi %two, %three : i32
  %b = arith.constant 5 : i32
  return %a, %b : i32, i32
}

// A pattern of an op: a loop that runs once is its body.
// CHECK-LABEL: func @once
// CHECK-SAME: %[[X:.*]]: i32
// CHECK-NEXT: %[[Y:.*]] = arith.addi %[[X]], %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @once(%x: i32) -> i32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %y = scf.for %i = %zero to %one step %one iter_args(%v = %x) -> i32 {
    %next = arith.addi %v, %v : i32
    scf.yield %next : i32
  }
  return %y : i32
}

// The pattern of `scf.if` makes an `arith.select`, and what arith.select is then has to be found by
// patterns of an op that was not there at first.
// CHECK-LABEL: func @another
// CHECK-SAME: %[[C:.*]]: i1
// CHECK-NEXT: %[[WIDE:.*]] = arith.extui %[[C]] : i1 to i32
// CHECK-NEXT: return %[[WIDE]]
func.func @another(%c: i1) -> i32 {
  %one = arith.constant 1 : i32
  %none = arith.constant 0 : i32
  %y = scf.if %c -> i32 {
    scf.yield %one : i32
  } else {
    scf.yield %none : i32
  }
  return %y : i32
}

// Blocks are merged when that is asked for.
// CHECK-LABEL: func @blocks
// CHECK: cf.cond_br
// BLOCKS-LABEL: func @blocks
// BLOCKS-NOT: cf.cond_br
// BLOCKS: return
func.func @blocks(%c: i1, %f: memref<i32>, %x: i32) {
  cf.cond_br %c, ^a, ^b
^a:
  memref.store %x, %f[] : memref<i32>
  return
^b:
  memref.store %x, %f[] : memref<i32>
  return
}
