// Which products a library is asked for, by the libraries of gantry.targets.

// RUN: gantry-opt %s --split-input-file --gantry-set-targets="machines=cuda=sm_90" --gantry-assign-libraries | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: gantry-opt %s --split-input-file --gantry-set-targets="machines=cuda=sm_80" --gantry-assign-libraries | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: gantry-opt %s --split-input-file --gantry-set-targets="machines=cuda=sm_120" --gantry-assign-libraries | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: gantry-opt %s --split-input-file --gantry-set-targets="machines=cuda=sm_90 math=tf32" --gantry-assign-libraries | FileCheck %s --check-prefixes=CHECK,TF32
// RUN: gantry-opt %s --split-input-file --gantry-set-targets="machines=cuda=sm_90,cuda=sm_75" --gantry-assign-libraries | FileCheck %s --check-prefixes=CHECK,SM75
// RUN: gantry-opt %s --split-input-file --gantry-assign-libraries | FileCheck %s --check-prefixes=CHECK,SM75
// RUN: gantry-opt %s --split-input-file --gantry-set-targets="machines=cuda=sm_90" --gantry-assign-libraries --gantry-assign-libraries | FileCheck %s --check-prefixes=CHECK,SM90

// With sums of f32 a product is the library's as tf32 alone; on GPUs without tensor cores for bf16 the
// library has none for it either.
module attributes {gantry.targets = #gantry.targets<libraries = ["auto"]>} {
  // CHECK-LABEL: func.func @types
  // CHECK-NEXT: gantry.matmul %arg0, %arg0 {by_library} : {{.*}}f16>
  // SM90-NEXT: gantry.matmul %arg1, %arg1 {by_library} : {{.*}}bf16>
  // TF32-NEXT: gantry.matmul %arg1, %arg1 {by_library} : {{.*}}bf16>
  // SM75-NEXT: gantry.matmul %arg1, %arg1 : {{.*}}bf16>
  // SM90-NEXT: gantry.matmul %arg2, %arg2 : {{.*}}f32>
  // TF32-NEXT: gantry.matmul %arg2, %arg2 {by_library} : {{.*}}f32>
  // SM75-NEXT: gantry.matmul %arg2, %arg2 : {{.*}}f32>
  // CHECK-NEXT: gantry.matmul %arg3, %arg3 : {{.*}}f64>
  // CHECK-NEXT: gantry.matmul %arg4, %arg4 : {{.*}}i32>
  // CHECK-NEXT: gantry.matmul %arg0, %arg0 {accumulate_type = f32, by_library} : {{.*}} -> tensor<2048x2048xf32>
  func.func @types(%f16: tensor<2048x2048xf16>, %bf16: tensor<2048x2048xbf16>, %f32: tensor<2048x2048xf32>,
                   %f64: tensor<2048x2048xf64>, %i32: tensor<2048x2048xi32>)
      -> (tensor<2048x2048xf16>, tensor<2048x2048xbf16>, tensor<2048x2048xf32>, tensor<2048x2048xf64>, tensor<2048x2048xi32>,
          tensor<2048x2048xf32>) {
    %0 = gantry.matmul %f16, %f16 : (tensor<2048x2048xf16>, tensor<2048x2048xf16>) -> tensor<2048x2048xf16>
    %1 = gantry.matmul %bf16, %bf16 : (tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16>
    %2 = gantry.matmul %f32, %f32 : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
    %3 = gantry.matmul %f64, %f64 : (tensor<2048x2048xf64>, tensor<2048x2048xf64>) -> tensor<2048x2048xf64>
    %4 = gantry.matmul %i32, %i32 : (tensor<2048x2048xi32>, tensor<2048x2048xi32>) -> tensor<2048x2048xi32>
    %5 = gantry.matmul %f16, %f16 {accumulate_type = f32} : (tensor<2048x2048xf16>, tensor<2048x2048xf16>) -> tensor<2048x2048xf32>
    return %0, %1, %2, %3, %4, %5 : tensor<2048x2048xf16>, tensor<2048x2048xbf16>, tensor<2048x2048xf32>, tensor<2048x2048xf64>, tensor<2048x2048xi32>, tensor<2048x2048xf32>
  }
}

// -----

// Small ones, matrices times vectors, few terms, none at all, and lines that begin elsewhere than at
// multiples of 16 bytes: primes, and an odd multiple of eight.
module attributes {gantry.targets = #gantry.targets<libraries = ["auto"]>} {
  // CHECK-LABEL: func.func @sizes
  // CHECK-NOT: by_library
  // CHECK: return
  func.func @sizes(%small: tensor<256x256xf16>, %line: tensor<1x4096xf16>, %square: tensor<4096x4096xf16>, %column: tensor<4096x1xf16>,
                   %few: tensor<4096x8xf16>, %one: tensor<4096x1xf16>, %none: tensor<0x4096xf16>, %prime: tensor<2039x2039xf16>,
                   %odd: tensor<2048x2044xf16>, %other: tensor<2044x2048xf16>)
      -> (tensor<256x256xf16>, tensor<1x4096xf16>, tensor<4096x1xf16>, tensor<4096x4096xf16>, tensor<4096x4096xf16>, tensor<0x4096xf16>,
          tensor<2039x2039xf16>, tensor<2048x2048xf16>, tensor<2044x2044xf16>) {
    %0 = gantry.matmul %small, %small : (tensor<256x256xf16>, tensor<256x256xf16>) -> tensor<256x256xf16>
    %1 = gantry.matmul %line, %square : (tensor<1x4096xf16>, tensor<4096x4096xf16>) -> tensor<1x4096xf16>
    %2 = gantry.matmul %square, %column : (tensor<4096x4096xf16>, tensor<4096x1xf16>) -> tensor<4096x1xf16>
    %3 = gantry.matmul %few, %few {transpose_b} : (tensor<4096x8xf16>, tensor<4096x8xf16>) -> tensor<4096x4096xf16>
    %4 = gantry.matmul %one, %one {transpose_b} : (tensor<4096x1xf16>, tensor<4096x1xf16>) -> tensor<4096x4096xf16>
    %5 = gantry.matmul %none, %square : (tensor<0x4096xf16>, tensor<4096x4096xf16>) -> tensor<0x4096xf16>
    %6 = gantry.matmul %prime, %prime : (tensor<2039x2039xf16>, tensor<2039x2039xf16>) -> tensor<2039x2039xf16>
    %7 = gantry.matmul %odd, %other : (tensor<2048x2044xf16>, tensor<2044x2048xf16>) -> tensor<2048x2048xf16>
    %8 = gantry.matmul %other, %odd : (tensor<2044x2048xf16>, tensor<2048x2044xf16>) -> tensor<2044x2044xf16>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<256x256xf16>, tensor<1x4096xf16>, tensor<4096x1xf16>, tensor<4096x4096xf16>, tensor<4096x4096xf16>, tensor<0x4096xf16>, tensor<2039x2039xf16>, tensor<2048x2048xf16>, tensor<2044x2044xf16>
  }

  // Lines of 2040 elements begin at multiples of 16 bytes; it does not matter where they end.
  // CHECK-LABEL: func.func @aligned
  // CHECK-NEXT: by_library
  func.func @aligned(%x: tensor<2039x2040xf16>, %y: tensor<2040x2040xf16>) -> tensor<2039x2040xf16> {
    %0 = gantry.matmul %x, %y : (tensor<2039x2040xf16>, tensor<2040x2040xf16>) -> tensor<2039x2040xf16>
    return %0 : tensor<2039x2040xf16>
  }
}

// -----

// Turned matrices; batches of both sides, of the left one, which is more rows, and of the right one.
// Two batches of which each is of another side are not evenly spaced.
module attributes {gantry.targets = #gantry.targets<libraries = ["auto"]>} {
  // CHECK-LABEL: func.func @forms
  // CHECK-NEXT: gantry.matmul %arg0, %arg1 {by_library, transpose_a, transpose_b}
  func.func @forms(%x: tensor<2048x1024xf16>, %y: tensor<1536x2048xf16>) -> tensor<1024x1536xf16> {
    %0 = gantry.matmul %x, %y {transpose_a, transpose_b} : (tensor<2048x1024xf16>, tensor<1536x2048xf16>) -> tensor<1024x1536xf16>
    return %0 : tensor<1024x1536xf16>
  }

  // CHECK-LABEL: func.func @batches
  // CHECK-NEXT: gantry.matmul %arg0, %arg0 {by_library}
  // CHECK-NEXT: gantry.matmul %arg0, %arg1 {by_library}
  // CHECK-NEXT: gantry.matmul %arg1, %arg0 {by_library}
  // CHECK-NEXT: gantry.matmul %arg2, %arg3 : {{.*}} -> tensor<4x4x1024x1024xf16>
  func.func @batches(%x: tensor<8x1024x1024xf16>, %w: tensor<1024x1024xf16>, %y: tensor<4x1x1024x1024xf16>, %z: tensor<1x4x1024x1024xf16>)
      -> (tensor<8x1024x1024xf16>, tensor<8x1024x1024xf16>, tensor<8x1024x1024xf16>, tensor<4x4x1024x1024xf16>) {
    %0 = gantry.matmul %x, %x : (tensor<8x1024x1024xf16>, tensor<8x1024x1024xf16>) -> tensor<8x1024x1024xf16>
    %1 = gantry.matmul %x, %w : (tensor<8x1024x1024xf16>, tensor<1024x1024xf16>) -> tensor<8x1024x1024xf16>
    %2 = gantry.matmul %w, %x : (tensor<1024x1024xf16>, tensor<8x1024x1024xf16>) -> tensor<8x1024x1024xf16>
    %3 = gantry.matmul %y, %z : (tensor<4x1x1024x1024xf16>, tensor<1x4x1024x1024xf16>) -> tensor<4x4x1024x1024xf16>
    return %0, %1, %2, %3 : tensor<8x1024x1024xf16>, tensor<8x1024x1024xf16>, tensor<8x1024x1024xf16>, tensor<4x4x1024x1024xf16>
  }

  // What turns an operand in each run is counted where the gain is small.
  // CHECK-LABEL: func.func @turned
  // CHECK: gantry.matmul %arg0, %arg1 {by_library}
  // SM90-NEXT: gantry.matmul %{{.*}}, %arg1 : {{.*}} -> tensor<1024x1024xf16>
  // TF32-NEXT: gantry.matmul %{{.*}}, %arg1 : {{.*}} -> tensor<1024x1024xf16>
  // SM75-NEXT: gantry.matmul %{{.*}}, %arg1 {by_library}
  // CHECK-NEXT: return
  func.func @turned(%x: tensor<1024x1024xf16>, %w: tensor<1024x1024xf16>) -> (tensor<1024x1024xf16>, tensor<1024x1024xf16>) {
    %0 = gantry.transpose %x {permutation = array<i64: 1, 0>} : (tensor<1024x1024xf16>) -> tensor<1024x1024xf16>
    %1 = gantry.matmul %x, %w : (tensor<1024x1024xf16>, tensor<1024x1024xf16>) -> tensor<1024x1024xf16>
    %2 = gantry.matmul %0, %w : (tensor<1024x1024xf16>, tensor<1024x1024xf16>) -> tensor<1024x1024xf16>
    return %1, %2 : tensor<1024x1024xf16>, tensor<1024x1024xf16>
  }
}

// -----

// What follows a product does not matter; attention is left to kernels of its own, however large.
module attributes {gantry.targets = #gantry.targets<libraries = ["auto"]>} {
  // CHECK-LABEL: func.func @attention
  // CHECK-NOT: by_library
  // CHECK: gantry.softmax
  // CHECK-NOT: by_library
  // CHECK: gantry.matmul
  // CHECK-NEXT: gantry.matmul {{.*}}by_library
  // CHECK-NEXT: gantry.relu
  func.func @attention(%q: tensor<64x512x512xf16>, %k: tensor<64x512x512xf16>, %v: tensor<64x512x512xf16>, %w: tensor<512x512xf16>, %s: tensor<f16>) -> tensor<64x512x512xf16> {
    %0 = gantry.matmul %q, %k {transpose_b} : (tensor<64x512x512xf16>, tensor<64x512x512xf16>) -> tensor<64x512x512xf16>
    %1 = gantry.mul %0, %s : (tensor<64x512x512xf16>, tensor<f16>) -> tensor<64x512x512xf16>
    %2 = gantry.softmax %1 {axis = 2 : i64} : (tensor<64x512x512xf16>) -> tensor<64x512x512xf16>
    %3 = gantry.matmul %2, %v : (tensor<64x512x512xf16>, tensor<64x512x512xf16>) -> tensor<64x512x512xf16>
    %4 = gantry.matmul %3, %w : (tensor<64x512x512xf16>, tensor<512x512xf16>) -> tensor<64x512x512xf16>
    %5 = gantry.relu %4 : (tensor<64x512x512xf16>) -> tensor<64x512x512xf16>
    return %5 : tensor<64x512x512xf16>
  }
}

// -----

// Where the library is asked for by name it has all products that it can, small and misaligned ones,
// f32 and those of attention, but none of few terms.
module attributes {gantry.targets = #gantry.targets<libraries = ["cublasLt"]>} {
  // CHECK-LABEL: func.func @all
  // CHECK-NEXT: gantry.matmul %arg0, %arg0 {by_library}
  // CHECK-NEXT: gantry.softmax
  // CHECK-NEXT: gantry.matmul {{.*}}by_library
  // CHECK-NEXT: gantry.matmul %arg1, %arg1 {accumulate_type = f32, by_library}
  // CHECK-NEXT: gantry.matmul %arg2, %arg2 {transpose_b} :
  func.func @all(%x: tensor<17x17xf32>, %n: tensor<31x31xbf16>, %few: tensor<32x15xf32>) -> (tensor<17x17xf32>, tensor<31x31xf32>, tensor<32x32xf32>) {
    %0 = gantry.matmul %x, %x : (tensor<17x17xf32>, tensor<17x17xf32>) -> tensor<17x17xf32>
    %1 = gantry.softmax %0 {axis = 1 : i64} : (tensor<17x17xf32>) -> tensor<17x17xf32>
    %2 = gantry.matmul %1, %x : (tensor<17x17xf32>, tensor<17x17xf32>) -> tensor<17x17xf32>
    %3 = gantry.matmul %n, %n {accumulate_type = f32} : (tensor<31x31xbf16>, tensor<31x31xbf16>) -> tensor<31x31xf32>
    %4 = gantry.matmul %few, %few {transpose_b} : (tensor<32x15xf32>, tensor<32x15xf32>) -> tensor<32x32xf32>
    return %2, %3, %4 : tensor<17x17xf32>, tensor<31x31xf32>, tensor<32x32xf32>
  }
}

// -----

// Without a word, or with an empty one, there is none, and marks of before go.
module attributes {gantry.targets = #gantry.targets<libraries = []>} {
  // CHECK-LABEL: func.func @none
  // CHECK-NEXT: gantry.matmul %arg0, %arg0 : {{.*}}f16>
  func.func @none(%x: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
    %0 = gantry.matmul %x, %x {by_library} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    return %0 : tensor<4096x4096xf16>
  }
}

// -----

// Placed ops: on GPUs of NVIDIA alone, or where one may run the device's commands; before Place all may be.
// RUN: gantry-opt %s --split-input-file --gantry-set-targets="machines=cuda=sm_90 drivers=cuda" --gantry-assign-libraries | FileCheck %s --check-prefix=ALSO
#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#sim = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">
#why = #gantry.decision<"default", "">
module attributes {gantry.targets = #gantry.targets<libraries = ["auto"]>, gantry.topology = #gantry.topology<[#cpu, #gpu, #sim], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"},
                {driver = "sim", name = "/physical_device:GPU:1"}],
    logical = [{physical = 0}, {physical = 1}, {physical = 2}]}>} {
  // CHECK-LABEL: func.func @placed
  // CHECK-NEXT: gantry.matmul %arg0, %arg0 {gantry.device
  // CHECK-NEXT: gantry.matmul %arg0, %arg1 {by_library
  // CHECK-NEXT: gantry.matmul %arg1, %arg0 {gantry.device
  // CHECK-NEXT: gantry.matmul %arg1, %arg1 {by_library
  // ALSO-LABEL: func.func @placed
  // ALSO-NEXT: gantry.matmul %arg0, %arg0 {gantry.device
  // ALSO-COUNT-3: by_library
  func.func @placed(%x: tensor<2048x2048xf16>, %y: tensor<2048x2048xf16>) -> (tensor<2048x2048xf16>, tensor<2048x2048xf16>, tensor<2048x2048xf16>, tensor<2048x2048xf16>) {
    %0 = gantry.matmul %x, %x {gantry.device = #cpu, gantry.placement = #why} : (tensor<2048x2048xf16>, tensor<2048x2048xf16>) -> tensor<2048x2048xf16>
    %1 = gantry.matmul %x, %y {gantry.device = #gpu, gantry.placement = #why} : (tensor<2048x2048xf16>, tensor<2048x2048xf16>) -> tensor<2048x2048xf16>
    %2 = gantry.matmul %y, %x {gantry.device = #sim, gantry.placement = #why} : (tensor<2048x2048xf16>, tensor<2048x2048xf16>) -> tensor<2048x2048xf16>
    %3 = gantry.matmul %y, %y {gantry.device = #cpu} : (tensor<2048x2048xf16>, tensor<2048x2048xf16>) -> tensor<2048x2048xf16>
    return %0, %1, %2, %3 : tensor<2048x2048xf16>, tensor<2048x2048xf16>, tensor<2048x2048xf16>, tensor<2048x2048xf16>
  }
}
