// What a kernel's result may overwrite is what its code reads before.
// RUN: gantry-opt %s --gantry-keep-in-place | FileCheck %s

// The element at its place, right before it is written; the window of a work item likewise.
// CHECK-LABEL: @kept(
// CHECK-SAME: gantry.work = #gantry.work<in_place = [0]>
func.func @kept(%old: memref<8xf32>, %new: memref<8xf32>, %i: index) attributes {gantry.work = #gantry.work<in_place = [0]>} {
  %0 = memref.subview %old[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
  %1 = memref.subview %new[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
  %2 = memref.load %0[%i] : memref<4xf32, strided<[1], offset: ?>>
  memref.store %2, %1[%i] : memref<4xf32, strided<[1], offset: ?>>
  return
}

// One of two: the other is read when the element at its place has been written. Scratch memory is no result.
// CHECK-LABEL: @collects(
// CHECK-SAME: gantry.work = #gantry.work<scratch = 64, in_place = [1]>
func.func @collects(%a: memref<8xf32>, %b: memref<8xf32>, %new: memref<8xf32>, %scratch: memref<64xi8>, %i: index, %j: index) attributes {gantry.work = #gantry.work<scratch = 64, in_place = [0, 1]>} {
  %0 = memref.load %b[%i] : memref<8xf32>
  memref.store %0, %new[%i] : memref<8xf32>
  %1 = memref.load %a[%i] : memref<8xf32>
  memref.store %1, %new[%j] : memref<8xf32>
  return
}

// CHECK-LABEL: @none(
// CHECK-SAME: gantry.work = #gantry.work<items = 2>
func.func @none(%old: memref<8xf32>, %new: memref<8xf32>, %i: index, %j: index) attributes {gantry.work = #gantry.work<items = 2, in_place = [0]>} {
  %0 = memref.load %old[%i] : memref<8xf32>
  memref.store %0, %new[%j] : memref<8xf32>
  return
}

// An update: all elements are read and written, then some are written over.
// CHECK-LABEL: @updated(
// CHECK-SAME: gantry.work = #gantry.work<in_place = [0]>
func.func @updated(%old: memref<8xf32>, %one: memref<f32>, %new: memref<8xf32>, %lower: index, %upper: index, %step: index, %j: index) attributes {gantry.work = #gantry.work<in_place = [0]>} {
  scf.for %i = %lower to %upper step %step {
    %0 = memref.load %old[%i] : memref<8xf32>
    memref.store %0, %new[%i] : memref<8xf32>
  }
  %1 = memref.load %one[] : memref<f32>
  memref.store %1, %new[%j] : memref<8xf32>
  return
}

// The other way round the update would be read as an old element.
// CHECK-LABEL: @updated_before(
// CHECK-SAME: gantry.work = #gantry.work<items = 1>
func.func @updated_before(%old: memref<8xf32>, %one: memref<f32>, %new: memref<8xf32>, %lower: index, %upper: index, %step: index, %j: index) attributes {gantry.work = #gantry.work<items = 1, in_place = [0]>} {
  %1 = memref.load %one[] : memref<f32>
  memref.store %1, %new[%j] : memref<8xf32>
  scf.for %i = %lower to %upper step %step {
    %0 = memref.load %old[%i] : memref<8xf32>
    memref.store %0, %new[%i] : memref<8xf32>
  }
  return
}

// As in one loop: the update of one step comes before what the next one reads.
// CHECK-LABEL: @updated_in_between(
// CHECK-SAME: gantry.work = #gantry.work<items = 1>
func.func @updated_in_between(%old: memref<8xf32>, %one: memref<f32>, %new: memref<8xf32>, %lower: index, %upper: index, %step: index, %j: index) attributes {gantry.work = #gantry.work<items = 1, in_place = [0]>} {
  %1 = memref.load %one[] : memref<f32>
  scf.for %i = %lower to %upper step %step {
    %0 = memref.load %old[%i] : memref<8xf32>
    memref.store %0, %new[%i] : memref<8xf32>
    memref.store %1, %new[%j] : memref<8xf32>
  }
  return
}

// A row is read to its end, by the item that writes it, before its first element changes.
// CHECK-LABEL: @row(
// CHECK-SAME: gantry.work = #gantry.work<items = 4, in_place = [0]>
func.func @row(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 4, in_place = [0]>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %begin to %end step %c1 {
    %0 = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %1 = memref.collapse_shape %0 [[0, 1]] : memref<1x8xf32, strided<[8, 1], offset: ?>> into memref<8xf32, strided<[1], offset: ?>>
    %sum = scf.for %j = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
      %2 = memref.load %1[%j] : memref<8xf32, strided<[1], offset: ?>>
      %3 = arith.addf %s, %2 : f32
      scf.yield %3 : f32
    }
    %4 = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    scf.for %j = %c0 to %c8 step %c1 {
      memref.store %sum, %4[%c0, %j] : memref<1x8xf32, strided<[8, 1], offset: ?>>
    }
  }
  return
}

// The row of another item: it may be written by then.
// CHECK-LABEL: @other_row(
// CHECK-SAME: gantry.work = #gantry.work<items = 4>
func.func @other_row(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 4, in_place = [0]>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %begin to %end step %c1 {
    %last = arith.subi %c3, %i : index
    %0 = memref.subview %x[%last, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %1 = memref.load %0[%c0, %c3] : memref<1x8xf32, strided<[8, 1], offset: ?>>
    %2 = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    memref.store %1, %2[%c0, %c1] : memref<1x8xf32, strided<[8, 1], offset: ?>>
  }
  return
}

// No window, so any item may read what any other writes.
// CHECK-LABEL: @no_window(
// CHECK-SAME: gantry.work = #gantry.work<items = 4>
func.func @no_window(%x: memref<4xf32>, %y: memref<4xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 4, in_place = [0]>} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %0 = memref.load %x[%c1] : memref<4xf32>
    memref.store %0, %y[%i] : memref<4xf32>
  }
  return
}

// A row that is read when a part of it is written, and one of which the sum is collected in the result.
// CHECK-LABEL: @late(
// CHECK-SAME: gantry.work = #gantry.work<items = 4>
func.func @late(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 4, in_place = [0]>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %begin to %end step %c1 {
    %0 = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %1 = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    scf.for %j = %c0 to %c8 step %c1 {
      %2 = memref.load %0[%c0, %c0] : memref<1x8xf32, strided<[8, 1], offset: ?>>
      memref.store %2, %1[%c0, %j] : memref<1x8xf32, strided<[8, 1], offset: ?>>
    }
  }
  return
}

// CHECK-LABEL: @collects_rows(
// CHECK-SAME: gantry.work = #gantry.work<items = 4>
func.func @collects_rows(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 4, in_place = [0]>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %begin to %end step %c1 {
    %0 = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %1 = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    scf.for %j = %c0 to %c8 step %c1 {
      %2 = memref.load %0[%c0, %c0] : memref<1x8xf32, strided<[8, 1], offset: ?>>
      %3 = memref.load %1[%c0, %c0] : memref<1x8xf32, strided<[8, 1], offset: ?>>
      %4 = arith.addf %2, %3 : f32
      memref.store %4, %1[%c0, %c0] : memref<1x8xf32, strided<[8, 1], offset: ?>>
    }
  }
  return
}

// Each of two results in the place of its own argument; the first one is read when the second has been written.
// CHECK-LABEL: @two(
// CHECK-SAME: gantry.work = #gantry.work<in_place = [-2, 0, 1, -1, 1]>
func.func @two(%a: memref<8xf32>, %b: memref<8xf32>, %x: memref<8xf32>, %y: memref<8xf32>, %i: index, %j: index) attributes {gantry.work = #gantry.work<in_place = [-2, 0, 1, -1, 0, 1]>} {
  %0 = memref.load %b[%i] : memref<8xf32>
  %1 = memref.load %a[%i] : memref<8xf32>
  memref.store %1, %y[%i] : memref<8xf32>
  %2 = memref.load %a[%i] : memref<8xf32>
  memref.store %2, %x[%i] : memref<8xf32>
  memref.store %0, %y[%j] : memref<8xf32>
  return
}
