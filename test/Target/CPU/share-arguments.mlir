// Which arguments of kernels are one buffer, by what the plan does with them.

// RUN: gantry-opt %s -split-input-file --gantry-share-arguments | FileCheck %s

// A kernel that is only used in place reads through what it writes; all claims stay true.
// CHECK-LABEL: func.func @always(
// CHECK-SAME: %[[OLD:[a-z0-9]+]]: memref<4xf32> {llvm.noalias}, %[[X:[a-z0-9]+]]: memref<4xf32> {llvm.noalias}, %[[NEW:[a-z0-9]+]]: memref<4xf32> {llvm.noalias}
// CHECK: memref.load %[[NEW]]
// CHECK: memref.load %[[X]]
// CHECK: memref.store %{{.*}}, %[[NEW]]
// One that is not always so loses the claims of the two, and looks; the third one is nobody's.
// CHECK-LABEL: func.func @sometimes(
// CHECK-SAME: %[[OLD:[a-z0-9]+]]: memref<4xf32>, %[[X:[a-z0-9]+]]: memref<4xf32> {llvm.noalias}, %[[NEW:[a-z0-9]+]]: memref<4xf32>,
// CHECK: %[[P:.*]] = memref.extract_aligned_pointer_as_index %[[OLD]]
// CHECK: %[[Q:.*]] = memref.extract_aligned_pointer_as_index %[[NEW]]
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[P]], %[[Q]] : index
// CHECK: scf.if %[[ONE]]
// CHECK-NEXT: memref.load %[[NEW]]
// CHECK-NEXT: memref.store %{{.*}}, %[[NEW]]
// CHECK-NEXT: } else {
// CHECK-NEXT: memref.load %[[OLD]]
// CHECK-NEXT: memref.store %{{.*}}, %[[NEW]]
// CHECK-LABEL: func.func @never(
// CHECK-SAME: %[[OLD:[a-z0-9]+]]: memref<4xf32> {llvm.noalias}, %[[X:[a-z0-9]+]]: memref<4xf32> {llvm.noalias}, %[[NEW:[a-z0-9]+]]: memref<4xf32> {llvm.noalias}
// CHECK: memref.load %[[OLD]]
// Reading one buffer twice is no harm.
// CHECK-LABEL: func.func @reads_twice(
// CHECK-SAME: memref<4xf32> {llvm.noalias}, %{{.*}}: memref<4xf32> {llvm.noalias}, %{{.*}}: memref<4xf32> {llvm.noalias}
module {
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func @always(%old: memref<4xf32> {llvm.noalias}, %x: memref<4xf32> {llvm.noalias}, %new: memref<4xf32> {llvm.noalias}, %i: index) {
      %0 = memref.load %old[%i] : memref<4xf32>
      %1 = memref.load %x[%i] : memref<4xf32>
      %2 = arith.addf %0, %1 : f32
      memref.store %2, %new[%i] : memref<4xf32>
      return
    }
    func.func @sometimes(%old: memref<4xf32> {llvm.noalias}, %x: memref<4xf32> {llvm.noalias}, %new: memref<4xf32> {llvm.noalias}, %i: index) {
      %0 = memref.load %old[%i] : memref<4xf32>
      memref.store %0, %new[%i] : memref<4xf32>
      return
    }
    func.func @never(%old: memref<4xf32> {llvm.noalias}, %x: memref<4xf32> {llvm.noalias}, %new: memref<4xf32> {llvm.noalias}, %i: index) {
      %0 = memref.load %old[%i] : memref<4xf32>
      memref.store %0, %new[%i] : memref<4xf32>
      return
    }
    func.func @reads_twice(%a: memref<4xf32> {llvm.noalias}, %b: memref<4xf32> {llvm.noalias}, %new: memref<4xf32> {llvm.noalias}, %i: index) {
      return
    }
  }
  plan.func @main inputs [] outputs [] {
    %x = plan.input 0 size 16
    %y = plan.output 0 size 16
    %w = plan.state @v0 size 16
    %again = plan.state @v0 size 16
    plan.launch @always(%w, %x) -> (%w) items 1 grain 1 on @d0 "a" ["A"] at "here"
    plan.launch @always(%w, %x) -> (%again) items 1 grain 1 on @d0 "a" ["A"] at "here"
    plan.launch @sometimes(%w, %x) -> (%w) items 1 grain 1 on @d0 "b" ["B"] at "here"
    plan.launch @sometimes(%w, %x) -> (%y) items 1 grain 1 on @d0 "c" ["B"] at "here"
    plan.launch @never(%w, %x) -> (%y) items 1 grain 1 on @d0 "d" ["C"] at "here"
    plan.launch @reads_twice(%x, %x) -> (%y) items 1 grain 1 on @d0 "e" ["D"] at "here"
  }
}

// -----

// Another type than that of the buffer written stays another argument, without a claim.
// CHECK-LABEL: func.func @reshaped(
// CHECK-SAME: %[[OLD:[a-z0-9]+]]: memref<4xf32>, %{{[a-z0-9]+}}: memref<2x2xf32>,
// CHECK: memref.load %[[OLD]]
module {
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func @reshaped(%old: memref<4xf32> {llvm.noalias}, %new: memref<2x2xf32> {llvm.noalias}, %i: index) {
      %0 = memref.load %old[%i] : memref<4xf32>
      memref.store %0, %new[%i, %i] : memref<2x2xf32>
      return
    }
  }
  plan.func @main inputs [] outputs [] {
    %w = plan.state @v0 size 16
    plan.launch @reshaped(%w) -> (%w) items 1 grain 1 on @d0 "a" ["A"] at "here"
  }
}
