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
