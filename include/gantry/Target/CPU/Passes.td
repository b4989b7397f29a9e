//===- Passes.td - Kernels as native code over ranges of work items -------===//
#ifndef GANTRY_TARGET_CPU_PASSES_TD
#define GANTRY_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeAttentionPass : Pass<"gantry-decompose-attention", "::mlir::ModuleOp"> {
  let summary = "attention of many keys on CPUs as products and a softmax";
  let description = [{
    A `gantry.attention` whose kernels are all the CPU's, of enough queries and keys for tiles and of more keys than a tile of
    scores has room for, becomes `gantry.matmul`, `gantry.softmax` and what stands between them; operands of f16 and bf16 are
    widened first. Precondition: ops are placed, copies made, shapes static.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def PropagateNHWCPass : Pass<"gantry-put-channels-last", "::mlir::ModuleOp"> {
  let summary = "convolution networks on CPUs with the channels last, reordered at their borders";
  let description = [{
    A convolution of f32 on a CPU gets `layout` NHWC and a packed filter, together with the
    pools, element-wise ops, resizes, concatenations, borders and copies behind it. Zero borders of its
    own (a `gantry.pad`) go back into the convolution, whose kernel reads them from no memory. Where a
    value is wanted in the other order stands a `gantry.transpose`, or a `gantry.reshape` where that moves
    no element; transposes of the graph meet them and disappear. Constant filters are packed here.
    A transposed convolution whose window is a multiple of its strides is made a convolution whose
    channels are blocks of pixels; before that it would read an image that is zeros for the most part.
    The gradient of a filter is a convolution of images and channels in each other's place. Its operands lie with
    the channels last, too: the transposes that put them in its order have `gantry.by_rows`, so that they join its
    kernel, and its border is a `gantry.pad` in front of these.
    Regions of the graph that would lose more by reordering than their convolutions gain stay as they
    are, and so does what runs on GPUs, simulated or not.

    Of bytes (ui8 by i8) there is this form alone: products with constant weights become convolutions of
    their rows, channels are filled up to words of four, and convolutions in groups without whole words
    become convolutions of f32 where those are exact.

    Convolutions of bf16 with accumulators (`accumulate_type`) multiply pairs of channels: in one group these are filled up
    with zeros where they are no pairs.

    Results are the same in every bit. Precondition: ops are placed, copies made, shapes static.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def ChainConvolutionsPass : Pass<"gantry-chain-convolutions", "::mlir::ModuleOp"> {
  let summary = "choose depthwise convolutions on CPUs that are computed row by row with their neighbours";
  let description = [{
    A convolution of each channel by itself often stands between two of one pixel: one that makes the channels,
    one that mixes them again. Their ops, and what stands between them element by element, get
    `gantry.by_rows`, so that they join the kernel of the last one: it makes a row of the result after
    the other, and of the images between them there are a few rows at a time.

    Chosen are chains that take no longer so, by the cost model: what is saved is moving images that do not fit the
    second cache; what it costs are rows that several work items make for themselves, and registers that
    short rows leave unused. With `all`, chains that take somewhat longer are chosen as well where they
    take memory off.

    Results are the same in every bit. Precondition: behind `gantry-put-channels-last`.
  }];
  let options = [
    Option<"all", "all", "bool", "false", "chains that save memory, too, where they cost time">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def KeepBlockQuantizedPass : Pass<"gantry-keep-few-bits", "::mlir::ModuleOp"> {
  let summary = "leave the weights of products on CPUs in the few bits that they have";
  let description = [{
    A product of f32 on a CPU whose second operand is made of a constant of 2, 4 or 8 bits an element, with scales and
    zero points of blocks that are constants, too, reads a constant of these bits, scales and zero points, block by
    block, and says so (`block_quantized`). All products that read a weight change, or none: it is not kept in two forms.
    Products of attention stay, which may round their factors.

    Results are the same in every bit. What runs on GPUs, simulated or not, stays as it is.
    Precondition: ops are placed, copies made, shapes static.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def TileKernelsPass : Pass<"gantry-tile-kernels", "::mlir::func::FuncOp"> {
  let summary = "cut the last op of a kernel into work items and fuse its producers";
  let description = [{
    Precondition: a kernel as a function of linalg ops on tensors. The op that makes the results is
    tiled into an `scf.forall` whose iterations are the kernel's work items; producers move into the
    loop. Tile sizes divide the dimensions, so that every shape inside stays static, and follow the
    shapes alone, so that results do not depend on the number of threads. A dimension along which a
    producer's value is reused stays whole. A kernel of one op may have a last, smaller item.
    `grain` in `gantry.work` records how many items are worth a thread. Kernels whose results have no common tileable op are
    left alone and run as one item.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"itemWork", "item-work", "int64_t", "65536", "operations wanted in a work item of an elementwise or row kernel">,
    Option<"contractionWork", "contraction-work", "int64_t", "33554432", "most multiply-adds in a work item of a contraction">,
    Option<"threadWork", "thread-work", "int64_t", "32768", "fewest operations worth a thread of their own">];
}

def EmitAttentionPass : Pass<"gantry-emit-attention", "::mlir::ModuleOp"> {
  let summary = "turn kernels that are attention into loops around tiles";
  let description = [{
    Precondition: kernels as functions of linalg ops on tensors, not yet fused. One whose result is a
    product of f32 with a left operand that comes from the rows of another product, by ops on elements and
    reductions along the row, becomes a function on buffers: work items are matrices of the batch, or
    chunks of their rows; keys and values are packed into panels; whole rows of scores, a tile of them,
    are computed, go through the ops between the products in place, and are multiplied by the values.
    Operands in another order are read where they lie, results are stored where they belong. Sums have
    the order that they have in kernels of their own. Other kernels stay as they are.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect"];
}

def EmitGEMMPass : Pass<"gantry-emit-products", "::mlir::ModuleOp"> {
  let summary = "turn kernels that are products into loops around tiles";
  let description = [{
    Precondition: kernels as functions of linalg ops on tensors. One whose result is a sum of products
    of f32 (of f16 or bf16, summed in f32), and what follows from it element by element, becomes a
    function on buffers: work items are panels of columns, tiles of rows by a panel are calls of
    functions that all kernels share and that get their bodies with the code (`gantry_tile_f32_9x48_1`:
    rows, columns, cache lines asked for ahead). A constant that `gantry.layouts` says to be packed is
    read so; other operands are packed by the item where they do not lie right, left ones by columns as they
    lie (`gantry_tile_f32_9x48_1t`). Each sum is one chain of
    fused multiply-adds in the order of its terms, whatever the sizes. Kernels that pick elements of such
    a constant do so from its panels. Other kernels stay as they are.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect",
                           "::mlir::vector::VectorDialect"];
}

def EmitRegisterTilesPass : Pass<"gantry-emit-register-tiles", "::mlir::func::FuncOp"> {
  let summary = "turn reductions on buffers into loops over blocks of vector registers";
  let description = [{
    Precondition: `linalg.generic` on memrefs with static shapes. Matrix products, convolutions,
    pools and other reductions become loops around a block of accumulators held in vector registers:
    along the last dimension of the result where the operands are contiguous in it, else along a
    reduced dimension. Generics that fit neither form are left for plain loops. The order in which
    an element's terms are added depends on shapes alone.
  }];
  let dependentDialects = ["::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect"];
  let options = [Option<"vectorBytes", "vector-bytes", "int64_t", "64", "bytes of a vector register">];
}

def EmitConvolutionsPass : Pass<"gantry-emit-convolutions", "::mlir::ModuleOp"> {
  let summary = "turn convolutions with channels last into loops over blocks of pixels";
  let description = [{
    Precondition: buffers of static shapes. A convolution of packed filters, with the borders before it
    and the element-wise op behind it, becomes work items over pixels and panels of channels around
    blocks of accumulators in vector registers. Pixels outside of the image are read from a row of zeros,
    so that no padded image is written. Each element is one chain of fused multiply-adds in the order of
    the window and then the channels. Of bytes it is words of four that are multiplied and added up, by a
    function `gantry_dot_ui8_i8_N` of N words that the module declares and each processor gives a body.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def EmitTransposesPass : Pass<"gantry-emit-transposes", "::mlir::func::FuncOp"> {
  let summary = "turn moves between orders of dimensions in blocks of registers";
  let description = [{
    Precondition: buffers, static along both last dimensions. A generic that only moves elements of 32 bits, and whose source
    and result have different last dimensions, becomes loops over blocks: 16 x 16 elements that are turned
    by shuffles, or, where one of the two has 2 to 8 elements, 16 rows of it that are merged into one run of
    memory or parted from it. Others stay as they are.
  }];
  let dependentDialects = ["::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def FinishKernelBuffersPass : Pass<"gantry-finish-kernel-buffers", "::mlir::func::FuncOp"> {
  let summary = "replace what is still allocated or copied by calls in a kernel";
  let description = [{
    After bufferization: small allocations go to the stack, large ones become one more argument, a
    scratch buffer whose bytes are recorded in `gantry.work`, for Memory to plan; deallocations
    disappear; copies become loops. A kernel that works outside its work items is marked
    `serial`. None of malloc, free and memcpy remain.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::memref::MemRefDialect", "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect"];
  let options = [Option<"maxStack", "max-stack", "int64_t", "131072", "largest total of bytes put on the stack">];
}

def LowerWorkItemsPass : Pass<"gantry-lower-work-items", "::mlir::func::FuncOp"> {
  let summary = "turn a kernel's work items into a loop over a range given by the caller";
  let description = [{
    The function gets two more arguments, begin and end; the outer `scf.forall` becomes a loop over
    them. The number of items is recorded in `gantry.work`.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect"];
}

def CheckInPlaceSafetyPass : Pass<"gantry-keep-in-place", "::mlir::func::FuncOp"> {
  let summary = "take back which arguments a kernel's result may overwrite";
  let description = [{
    Precondition: loops over buffers. `gantry.work` lists, by what the ops mean, the arguments whose
    place each result may take; those stay of which each element is read right before the one at its
    place is written, and never later; and what is written without reading, as by an update, is
    written behind all of that. Nothing is added.
  }];
}

def ShareArgumentsPass : Pass<"gantry-share-arguments", "::mlir::ModuleOp"> {
  let summary = "tell kernels which of their arguments are the same buffer";
  let description = [{
    Precondition: a plan, and its kernels on memrefs. Kernels get `llvm.noalias` arguments; where a
    launch reads and writes one buffer that is not true. When every launch of a kernel does, it reads
    what it writes through the one argument. When only some do, both arguments lose `llvm.noalias`, and
    the kernel compares their addresses to do either.
  }];
  let dependentDialects = ["::gantry::plan::ir::PlanDialect", "::mlir::func::FuncDialect",
                           "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif
