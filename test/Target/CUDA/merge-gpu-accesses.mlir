// RUN: gantry-opt %s --gantry-merge-gpu-accesses -split-input-file | FileCheck %s

// Four neighbours of f32 are one access; a fifth one is left alone.
// CHECK-LABEL: func.func @neighbours(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<64xf32>
// CHECK: %[[WIDE:.*]] = vector.load %[[X]][%{{.*}}] {alignment = 16 : i64} : memref<64xf32>, vector<4xf32>
// CHECK-COUNT-4: vector.extract %[[WIDE]]
// CHECK: memref.load %[[X]]
// CHECK: vector.store %{{.*}}, %{{.*}}[%{{.*}}] {alignment = 16 : i64}
// CHECK-NOT: memref.store
func.func @neighbours(%x: memref<64xf32> {llvm.noalias}, %y: memref<64xf32> {llvm.noalias}, %i: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %i0 = arith.muli %i, %c4 overflow<nsw, nuw> : index
  %i1 = arith.addi %i0, %c1 overflow<nsw, nuw> : index
  %i2 = arith.addi %i0, %c2 overflow<nsw, nuw> : index
  %i3 = arith.addi %i0, %c3 overflow<nsw, nuw> : index
  %i4 = arith.addi %i0, %c4 overflow<nsw, nuw> : index
  %0 = memref.load %x[%i0] : memref<64xf32>
  %1 = memref.load %x[%i1] : memref<64xf32>
  %2 = memref.load %x[%i2] : memref<64xf32>
  %3 = memref.load %x[%i3] : memref<64xf32>
  %4 = memref.load %x[%i4] : memref<64xf32>
  %5 = arith.addf %0, %4 : f32
  memref.store %5, %y[%i0] : memref<64xf32>
  memref.store %1, %y[%i1] : memref<64xf32>
  memref.store %2, %y[%i2] : memref<64xf32>
  memref.store %3, %y[%i3] : memref<64xf32>
  return
}

// -----

// Where a run does not begin at a multiple of its size for certain, narrower ones may.
// CHECK-LABEL: func.func @shifted(
// CHECK: memref.load
// CHECK: vector.load {{.*}} vector<2xf32>
// CHECK: memref.load
// CHECK-NOT: vector.load
func.func @shifted(%x: memref<64xf32>, %i: index) -> (f32, f32, f32, f32) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %i0 = arith.muli %i, %c4 overflow<nsw, nuw> : index
  %i1 = arith.addi %i0, %c1 overflow<nsw, nuw> : index
  %i2 = arith.addi %i0, %c2 overflow<nsw, nuw> : index
  %i3 = arith.addi %i0, %c3 overflow<nsw, nuw> : index
  %i4 = arith.addi %i0, %c4 overflow<nsw, nuw> : index
  %0 = memref.load %x[%i1] : memref<64xf32>
  %1 = memref.load %x[%i2] : memref<64xf32>
  %2 = memref.load %x[%i3] : memref<64xf32>
  %3 = memref.load %x[%i4] : memref<64xf32>
  return %0, %1, %2, %3 : f32, f32, f32, f32
}

// -----

// What is written in between may be what is read: both buffers may be the same memory.
// CHECK-LABEL: func.func @overwritten(
// CHECK-NOT: vector.load
func.func @overwritten(%x: memref<64xf32>, %y: memref<64xf32>, %i: index, %v: f32) -> (f32, f32) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %i0 = arith.muli %i, %c2 overflow<nsw, nuw> : index
  %i1 = arith.addi %i0, %c1 overflow<nsw, nuw> : index
  %0 = memref.load %x[%i0] : memref<64xf32>
  memref.store %v, %y[%i1] : memref<64xf32>
  %1 = memref.load %x[%i1] : memref<64xf32>
  return %0, %1 : f32, f32
}

// -----

// Truth values are bytes.
// CHECK-LABEL: func.func @bits(
// CHECK: vector.load {{.*}} : memref<64xi8>, vector<2xi8>
// CHECK: vector.bitcast {{.*}} : vector<2xi8> to vector<1xi16>
// CHECK: arith.shrui
// CHECK: arith.trunci {{.*}} : i16 to i1
// CHECK: arith.extui
// CHECK: vector.store {{.*}} : memref<64xi8>, vector<2xi8>
func.func @bits(%x: memref<64xi1> {llvm.noalias}, %y: memref<64xi1> {llvm.noalias}, %i: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %i0 = arith.muli %i, %c2 overflow<nsw, nuw> : index
  %i1 = arith.addi %i0, %c1 overflow<nsw, nuw> : index
  %0 = memref.load %x[%i0] : memref<64xi1>
  %1 = memref.load %x[%i1] : memref<64xi1>
  memref.store %1, %y[%i0] : memref<64xi1>
  memref.store %0, %y[%i1] : memref<64xi1>
  return
}
